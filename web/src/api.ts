// Questions to the server, answered in JSON; in a report, by the report itself.
import { useEffect, useState } from "preact/hooks";
import { askEngine, hasEngine } from "./engine/client";

/** What the server refused, or that it did not answer; the message is a line for people. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** What `vecchess report` puts into a page: the server's answers by path, so that no server is needed. */
interface Report {
  version: string;
  written_unix: number;
  /** Where it opens, behind the # of the address. */
  start: string;
  answers: Record<string, unknown>;
}

const text = document.getElementById("report")?.textContent;

/** The report that this page is; null on a page that a server serves. */
export const report = text ? (JSON.parse(text) as Report) : null;

const TIMEOUT_MS = 20_000;

export async function get<T>(path: string): Promise<T> {
  if (report) {
    const [asked = ""] = path.split("?", 1);
    if (!(asked in report.answers)) throw new ApiError("The report does not have it", 404);
    return report.answers[asked] as T;
  }
  if (hasEngine) return askEngine<T>("/", {});
  return read<T>(await request(path, { signal: AbortSignal.timeout(TIMEOUT_MS) }));
}

/** The server's answer. Raises what aborts it, and ApiError where there is none or the server refuses. */
export async function request(path: string, asked: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, asked);
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    if (name === "AbortError") throw error;
    throw new ApiError(name === "TimeoutError" ? "The server took too long to answer." : "The server cannot be reached.", 0);
  }
  if (!answer.ok) {
    const said = (await answer.json().catch(() => null)) as { error?: string } | null;
    throw new ApiError(said?.error ?? `The server answered ${answer.status}.`, answer.status);
  }
  return answer;
}

/** What an answer says. */
export async function read<T>(answer: Response): Promise<T> {
  const said = (await answer.json().catch(() => null)) as T | null;
  if (said === null) throw new ApiError("The server's answer cannot be read.", answer.status);
  return said;
}

/** What a run says of itself changes all the time while it goes on: a page asks again so often. */
const AGAIN_MS = 10_000;

/** A turn for questions about runs: another one in each of their states, and every now and then while any goes on. */
export function useTurn(runs: { state: string; is_over: boolean }[]): string {
  const [ticks, setTicks] = useState(0);
  const isLive = runs.some((run) => !run.is_over);
  useEffect(() => {
    if (!isLive || report) return;
    const timer = setInterval(() => document.hidden || setTicks((n) => n + 1), AGAIN_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  return [ticks, ...runs.map((run) => run.state)].join();
}

export interface Answer<T> {
  value: T | null;
  error: ApiError | null;
}

/** The answer to a GET, asked anew when `path` or `turn` changes; null asks nothing. The old answer to the
 * same path stays until the new one is there. */
export function useGet<T>(path: string | null, turn: unknown = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T> & { path: string | null }>({ path: null, value: null, error: null });
  useEffect(() => {
    if (path === null) return;
    let wanted = true;
    get<T>(path).then(
      (value) => wanted && setAnswer({ path, value, error: null }),
      (error: ApiError) =>
        wanted && setAnswer((old) => ({ path, value: old.path === path ? old.value : null, error })),
    );
    return () => {
      wanted = false;
    };
  }, [path, turn]);
  return answer.path === path ? answer : { value: null, error: null };
}
