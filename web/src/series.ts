// A run's measurements over time: sampled by the server, then appended to as they come.
import { useEffect, useRef, useState } from "preact/hooks";
import { useGet } from "./api";
import { useTopic } from "./stream";
import type { Columns, Newest } from "./types";

const MOST = 600;
/** So many appended lines, and the whole is asked for anew. */
const MOST_APPENDED = 300;
/** The whole is asked for anew so long after lines were missed: they come in bursts. */
const PAUSE_MS = 2500;

export interface Lines {
  /** Lines there are; 0 also while they are on their way. */
  length: number;
  isLoading: boolean;
  error: string | null;
  numbers(name: string): (number | null)[];
  values<T>(name: string): (T | null)[];
  has(name: string): boolean;
}

export class Table implements Lines {
  constructor(
    private readonly columns: Record<string, unknown[]>,
    readonly isLoading = false,
    readonly error: string | null = null,
  ) {}

  get length(): number {
    return this.columns["time_unix"]?.length ?? 0;
  }

  values<T>(name: string): (T | null)[] {
    return (this.columns[name] ?? new Array<null>(this.length).fill(null)) as (T | null)[];
  }

  numbers(name: string): (number | null)[] {
    return this.values<unknown>(name).map((value) => (typeof value === "number" ? value : null));
  }

  has(name: string): boolean {
    return (this.columns[name] ?? []).some((value) => value !== null && value !== undefined);
  }

  /** With one more line. */
  with(line: Record<string, unknown>): Table {
    const columns: Record<string, unknown[]> = {};
    for (const name of new Set([...Object.keys(this.columns), ...Object.keys(line)])) {
      columns[name] = [...this.values(name), line[name] ?? null];
    }
    return new Table(columns);
  }
}

const seriesPath = (run: string, kind: string) => `/api/runs/${run}/series/${kind}?most=${MOST}`;

/** All lines of a kind; a live run's grow: by the newest line that is heard of, or, where more came since the
 * one before or the run ended, by asking for all of them. */
export function useSeries(run: string, kind: string, isLive = true): Lines {
  const [turn, setTurn] = useState(0);
  const [isBehind, setBehind] = useState(false);
  const asked = useGet<Columns>(seriesPath(run, kind), `${turn} ${isLive}`);
  const news = useTopic<Newest>(isLive ? `series/${run}` : null).value;
  const [table, setTable] = useState(new Table({}, true));
  const state = useRef({ appended: 0, count: 0, news: null as Newest | null });
  useEffect(() => {
    if (asked.value) {
      state.current = { appended: 0, count: asked.value.count, news: state.current.news };
      setTable(new Table(asked.value.columns));
    } else {
      setTable(new Table({}, asked.error === null, asked.error?.message ?? null));
    }
  }, [asked.value, asked.error]);
  useEffect(() => {
    const [line, count] = [news?.last[kind], news?.counts[kind] ?? 0];
    if (!line || !asked.value || news === state.current.news) return;
    state.current.news = news; // once only: it may be older than what was asked
    if (count === state.current.count) return;
    const isNext = count === state.current.count + 1 && ++state.current.appended <= MOST_APPENDED;
    state.current.count = count;
    if (isNext) setTable((old) => old.with(line));
    else setBehind(true);
  }, [news, asked.value]);
  useEffect(() => {
    if (!isBehind) return;
    const catchUp = () => (setBehind(false), setTurn((n) => n + 1));
    const timer = setTimeout(catchUp, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isBehind]);
  return table;
}

export { seriesPath };
