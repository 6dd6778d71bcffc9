// Requests of the play page, and the shapes of their answers.
import { ApiError, read, request } from "../api";
import { askEngine, hasEngine, listenToEngine } from "../engine/client";

/** A position of a game, and the move that led there; none at the start. */
export interface Ply {
  fen: string;
  uci: string | null;
  san: string | null;
  check: boolean;
}

export interface Outcome {
  result: string;
  reason: string;
  can_go_on: boolean;
}

export interface Game {
  start: string;
  plies: Ply[];
  turn: "white" | "black";
  targets: Record<string, string[]>;
  promotions: string[];
  outcome: Outcome | null;
}

/** Chances as White sees them; they sum to 1. */
export interface Chances {
  win: number;
  draw: number;
  loss: number;
}

export interface Line extends Chances {
  uci: string | null;
  san: string[];
  mate: number | null;
  sims: number;
  depth: number;
  sims_per_s: number;
}

export interface Layer {
  name: string;
  channels: number;
  shares: number[];
  /** Spikes of each square at each step, a1 first. */
  squares: number[][];
}

export interface Seen {
  line: string;
  time_steps?: number;
  steps?: number;
  layers: Layer[];
  values: Chances[];
  policy: { uci: string; san: string; share: number }[];
}

export interface Offer {
  networks: string[];
  built_in: string;
  sims: number[];
  ratings: Record<string, number[]>;
  analysis_sims: number;
}

export type PlayEvent = { state?: "starting" | "thinking" | "done"; lines?: Line[]; game?: Game; line?: Line | null };

const PLACE = "/api/play";
export const OFFER = `${PLACE}/`;

export async function ask<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  if (hasEngine) return askEngine<T>(path, body as object, signal);
  const answer = await post(path, body, signal);
  const said = await read<T & { error?: string }>(answer);
  if (said.error !== undefined) throw new ApiError(said.error, answer.status);
  return said;
}

/** Calls `use` with each event that answers a request. Aborting ends the work on the server too. */
export async function listen(path: string, body: unknown, signal: AbortSignal, use: (event: PlayEvent) => void) {
  if (hasEngine) return listenToEngine(path, body as object, signal, use);
  const answer = await post(path, body, signal);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new ApiError("The connection to the server was lost.", 0);
    });
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const parsed = JSON.parse(event.replace(/^data: /, "")) as PlayEvent & { error?: string };
      if (parsed.error !== undefined) throw new ApiError(parsed.error, answer.status);
      use(parsed);
    }
  }
}

function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return request(PLACE + path, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null });
}
