// What is chosen on the page and outlives a reload: opponent, strength, side, and the game so far.
import type { Game, Offer } from "./server";

export type Mode = "play" | "analyse";
export type Side = "white" | "black";

export interface Settings {
  mode: Mode;
  network: string;
  /** "s64": so many simulations; "e900": a rating. */
  strength: string;
  side: Side;
}

export interface Kept extends Settings {
  start: string;
  moves: string[];
  resigned: Side | null;
}

const KEY = "vecchess-play";

export function remember(kept: Kept): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // then a reload begins anew
  }
}

export function remembered(): Partial<Kept> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
  } catch {
    return {};
  }
}

export function movesOf(game: Game, plies = game.plies.length - 1): string[] {
  return game.plies.slice(1, plies + 1).map((ply) => ply.uci!);
}

/** What can be chosen against a network, as value and words. */
export function strengths(offer: Offer, network: string): [string, string][] {
  const builtIn = network === offer.built_in;
  const sims = offer.sims.filter((count) => count > 0 || !builtIn);
  const listed = sims.map((count): [string, string] => [
    `s${count}`,
    count === 0 ? "Policy alone, no search" : `${count} simulations a move`,
  ]);
  const rated = (offer.ratings[network] ?? []).map((elo): [string, string] => [`e${elo}`, `About ${elo} Elo`]);
  return [...listed, ...rated];
}

/** The strength as the server is asked for it. */
export function asAsked(strength: string): { sims: number } | { elo: number } {
  const number = Number(strength.slice(1));
  return strength.startsWith("e") ? { elo: number } : { sims: number };
}

export const other = (side: Side): Side => (side === "white" ? "black" : "white");
export const named = (side: Side): string => (side === "white" ? "White" : "Black");
