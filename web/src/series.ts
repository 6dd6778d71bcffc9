// A run's measurements over time: sampled once by the server, then appended to as they come.
import { useEffect, useRef, useState } from "preact/hooks";
import { useGet } from "./api";
import { useTopic } from "./stream";
import type { Columns, Newest } from "./types";

const MOST = 600;
/** So many appended lines, and the whole is asked for anew. */
const MOST_APPENDED = 300;

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

/** All lines of a kind; a live run's grow. */
export function useSeries(run: string, kind: string, isLive = true): Lines {
  const [turn, setTurn] = useState(0);
  const asked = useGet<Columns>(seriesPath(run, kind), turn);
  const news = useTopic<Newest>(isLive ? `series/${run}` : null).value;
  const [table, setTable] = useState(new Table({}, true));
  const state = useRef({ appended: 0, count: 0 });
  useEffect(() => {
    if (asked.value) {
      state.current = { appended: 0, count: asked.value.count };
      setTable(new Table(asked.value.columns));
    } else {
      setTable(new Table({}, asked.error === null, asked.error?.message ?? null));
    }
  }, [asked.value, asked.error]);
  useEffect(() => {
    const [line, count] = [news?.last[kind], news?.counts[kind] ?? 0];
    if (!line || !asked.value || count === state.current.count) return;
    const wasCut = count < state.current.count;
    state.current.count = count;
    if (wasCut || ++state.current.appended > MOST_APPENDED) setTurn((n) => n + 1);
    else setTable((old) => old.with(line));
  }, [news, asked.value]);
  return table;
}

export { seriesPath };
