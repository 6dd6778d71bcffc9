// The page's side of an engine without a server: asks the worker what else the server is asked.
import type { EngineFiles, Reply, Request } from "./worker";

interface Files extends EngineFiles {
  worker: string;
  offline: string;
}

const text = document.getElementById("engine")?.textContent;
const files = text ? (JSON.parse(text) as Files) : null;

/** Whether this page has an engine of its own, as `vecchess export web` writes it. */
export const hasEngine = files !== null;

const waiting = new Map<number, (reply: Reply) => void>();
let last = 0;
let worker: Worker | null = null;

function started(): Worker {
  if (worker) return worker;
  const { wasm, image, name, worker: script, offline } = files!;
  worker = new Worker(script, { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<Reply>) => waiting.get(data.id)?.(data);
  worker.onerror = ({ message }) => {
    for (const [id, tell] of waiting) tell({ id, error: message || "The engine cannot be started." });
  };
  const here = (file: string) => new URL(file, location.href).href;
  worker.postMessage({ files: { wasm: here(wasm), image: here(image), name } } satisfies Request);
  navigator.serviceWorker?.register(offline).catch(() => undefined); // then it works online alone
  return worker;
}

/** Calls `use` with each event that answers a request; ends with the last, or when it is aborted. */
export function listenToEngine(
  path: string,
  body: object,
  signal: AbortSignal | undefined,
  use: (event: never) => void,
): Promise<void> {
  const id = ++last;
  return new Promise((resolve, reject) => {
    const stop = () => {
      started().postMessage({ id, stop: true } satisfies Request);
      waiting.delete(id);
      reject(signal!.reason as Error);
    };
    signal?.addEventListener("abort", stop);
    waiting.set(id, ({ event, error, done }) => {
      if (event !== undefined) return use(event as never);
      waiting.delete(id);
      signal?.removeEventListener("abort", stop);
      if (done) resolve();
      else reject(new Error(error));
    });
    started().postMessage({ id, path, body } as Request);
  });
}

export async function askEngine<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
  let found: T | undefined;
  await listenToEngine(path, body, signal, (event) => (found = event));
  return found as T;
}
