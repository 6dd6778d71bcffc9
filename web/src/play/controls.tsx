// The buttons below the board.
import type { Session } from "./session";

export function Controls({ session, flip }: { session: Session; flip: () => void }) {
  const { game, at, show, settings, outcome } = session;
  const last = game ? game.plies.length - 1 : 0;
  const playing = settings.mode === "play";
  return (
    <div class="row controls">
      <div class="row steps" role="group" aria-label="Through the game">
        <Step path="M5 3v14M17 3 8 10l9 7z" name="First position" off={at === 0} go={() => show(0)} />
        <Step path="M15 3 5 10l10 7z" name="Move back" off={at === 0} go={() => show(at - 1)} />
        <Step path="M5 3l10 7-10 7z" name="Move forward" off={at === last} go={() => show(at + 1)} />
        <Step path="M15 3v14M3 3l9 7-9 7z" name="Last position" off={at === last} go={() => show(last)} />
      </div>
      <button type="button" onClick={flip}>
        Flip board
      </button>
      <button type="button" disabled={last === 0} onClick={session.takeBack}>
        Take back
      </button>
      {playing && (
        <button type="button" disabled={!game || outcome !== null || last === 0} onClick={session.resign}>
          Resign
        </button>
      )}
    </div>
  );
}

function Step({ path, name, off, go }: { path: string; name: string; off: boolean; go: () => void }) {
  return (
    <button type="button" aria-label={name} title={name} disabled={off} onClick={go}>
      <svg viewBox="0 0 20 20" width="14" height="14" aria-hidden="true">
        <path d={path} fill="currentColor" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" />
      </svg>
    </button>
  );
}
