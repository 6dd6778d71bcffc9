// A chess board: chessground as a component. Everything about it is a property; it draws what changed.
import { Chessground } from "chessground";
import type { Api } from "chessground/api";
import type { Config } from "chessground/config";
import type { DrawShape } from "chessground/draw";
import type { Key } from "chessground/types";
import { useLayoutEffect, useRef } from "preact/hooks";
import { calm } from "../theme";

export interface BoardProps {
  fen: string;
  /** Read out in place of the picture. */
  label: string;
  /** The last move as UCI, which is highlighted. */
  last?: string | undefined;
  orientation?: "white" | "black";
  coordinates?: boolean;
  shapes?: DrawShape[];
  /** Whether pieces slide to their squares; they never do where reduced motion is asked for. */
  slides?: boolean;
  /** What else chessground takes: movable, premovable, events, ... Without it nothing can be moved. */
  config?: Config;
  /** Hands over chessground's own interface once the board stands. */
  onReady?: (api: Api) => void;
}

const ANIMATION_MS = 180;

/** From and to square of a move in UCI. */
export function squares(uci: string | undefined): Key[] | undefined {
  return uci ? [uci.slice(0, 2) as Key, uci.slice(2, 4) as Key] : undefined;
}

function settingsOf(props: BoardProps): Config {
  return {
    fen: props.fen,
    orientation: props.orientation ?? "white",
    turnColor: props.fen.split(" ")[1] === "b" ? "black" : "white",
    coordinates: props.coordinates ?? false,
    viewOnly: props.config === undefined,
    disableContextMenu: props.config !== undefined,
    animation: { enabled: props.slides !== false && !calm(), duration: ANIMATION_MS },
    highlight: { lastMove: true, check: true },
    drawable: { enabled: props.config !== undefined, visible: true, autoShapes: props.shapes ?? [] },
    ...props.config,
  };
}

export function Board(props: BoardProps) {
  const place = useRef<HTMLDivElement>(null);
  const api = useRef<Api | null>(null);
  // With the page around it, not a frame later: a click in between would meet the position before.
  useLayoutEffect(() => {
    const ground = Chessground(place.current!, settingsOf(props));
    api.current = ground;
    props.onReady?.(ground);
    const watcher = new ResizeObserver(() => ground.redrawAll());
    watcher.observe(place.current!);
    return () => {
      watcher.disconnect();
      ground.destroy();
    };
  }, []);
  useLayoutEffect(() => {
    api.current?.set({ ...settingsOf(props), lastMove: squares(props.last) ?? [] });
  }, [props.fen, props.last, props.orientation, props.coordinates, props.config, props.shapes]);
  return (
    <div class="board" role="img" aria-label={props.label}>
      <div ref={place} />
    </div>
  );
}
