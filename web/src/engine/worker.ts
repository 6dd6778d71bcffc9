// The worker of a page without a server: the engine, and the answers that `vecchess dash` gives elsewhere.
import type { Offer, PlayEvent } from "../play/server";
import { makeUci } from "chessops/util";
import { facts, readGame, readText, writePgn, type Asked } from "./game";
import { Memory } from "./memory";
import { compareGames } from "./replay";
import { Thinker } from "./think";

/** Where the files lie, and what the network is called. */
export interface EngineFiles {
  wasm: string;
  image: string;
  name: string;
}

export type Request =
  | { files: EngineFiles }
  | { id: number; path: string; body: Asked & { sims?: number; elo?: number; file?: File; text?: string } }
  | { id: number; stop: true };
export type Reply = { id: number; event?: unknown; error?: string; done?: true };

const SIMS = [0, 16, 64, 256, 1000];
const SHOW_MS = 150;
/** What takes its time, one after another; the rest is answered meanwhile. */
const SEARCHES = ["/move", "/analyse", "/replay"];

let engine: Promise<{ memory: Memory; thinker: Thinker; name: string }>;
let turn: Promise<void> = Promise.resolve();
const stopped = new Set<number>();

const scope = self as unknown as { onmessage: (message: MessageEvent<Request>) => void; postMessage: (reply: Reply) => void };

scope.onmessage = ({ data }) => {
  if ("files" in data) {
    engine = load(data.files);
    engine.catch(() => undefined); // told to whoever asks
  } else if ("stop" in data) {
    stopped.add(data.id);
  } else if (SEARCHES.includes(data.path)) {
    turn = turn.then(() => answer(data.id, data.path, data.body));
  } else {
    void answer(data.id, data.path, data.body);
  }
};

async function answer(id: number, path: string, body: Parameters<typeof events>[1]): Promise<void> {
  try {
    for await (const event of events(path, body, id)) scope.postMessage({ id, event });
    scope.postMessage({ id, done: true });
  } catch (failure) {
    scope.postMessage({ id, error: (failure as Error).message });
  }
  stopped.delete(id);
}

async function load({ wasm, image, name }: EngineFiles) {
  const [kernels, packed] = await Promise.all([fetched(wasm), fetched(image)]);
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const memory = await Memory.load(kernels, new Uint8Array(await new Response(unpacked).arrayBuffer()));
  return { memory, thinker: new Thinker(memory), name };
}

async function fetched(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok) throw new Error(`${address} cannot be loaded: reload the page.`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** Lets messages come in, such as that an answer is not wanted any more. */
const pause = () => new Promise<void>((go) => setTimeout(go));

async function* events(
  path: string,
  body: Asked & { sims?: number; file?: File; text?: string },
  id: number,
): AsyncGenerator<unknown> {
  const { memory, thinker, name } = await engine;
  await pause();
  if (stopped.has(id)) return;
  switch (path) {
    case "/":
      yield { networks: [name], built_in: "", sims: SIMS, ratings: {}, analysis_sims: 4000 } satisfies Offer;
      return;
    case "/position":
      yield facts(readGame(body));
      return;
    case "/read":
      yield facts(readText(body));
      return;
    case "/pgn":
      yield { pgn: writePgn(body as Parameters<typeof writePgn>[0]) };
      return;
    case "/spikes":
      yield thinker.trace(readGame(body));
      return;
    case "/replay":
      yield* compareGames(memory, body.file!, () => stopped.has(id));
      return;
  }
  const game = readGame(body);
  const sims = Math.max(1, body.sims ?? 0);
  const start = performance.now();
  const lines = () => thinker.lines(game, (performance.now() - start) / 1000);
  yield { state: "thinking" } satisfies PlayEvent;
  let shown = start;
  for await (const _ of thinker.search(game, sims)) {
    await pause();
    if (stopped.has(id)) return;
    if (path !== "/analyse" || performance.now() - shown < SHOW_MS) continue;
    yield { state: "thinking", lines: lines() } satisfies PlayEvent;
    shown = performance.now();
  }
  if (path === "/analyse") {
    yield { state: "done", lines: lines() } satisfies PlayEvent;
    return;
  }
  const moves = [...game.ucis, makeUci(thinker.decided(game))];
  yield { game: facts(readGame({ start: body.start ?? "startpos", moves })), line: lines()[0] ?? null } satisfies PlayEvent;
}
