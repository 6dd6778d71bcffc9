// The buttons below the board.
import type { Session } from "./session";

export function Controls({ session, flip }: { session: Session; flip: () => void }) {
  const { game, at, show, settings, outcome } = session;
  const last = game ? game.plies.length - 1 : 0;
  const playing = settings.mode === "play";
  return (
    <div class="row controls">
      <div class="row steps" role="group" aria-label="Through the game">
        <Step text="⏮" name="First position" off={at === 0} go={() => show(0)} />
        <Step text="◀" name="Move back" off={at === 0} go={() => show(at - 1)} />
        <Step text="▶" name="Move forward" off={at === last} go={() => show(at + 1)} />
        <Step text="⏭" name="Last position" off={at === last} go={() => show(last)} />
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

function Step({ text, name, off, go }: { text: string; name: string; off: boolean; go: () => void }) {
  return (
    <button type="button" aria-label={name} title={name} disabled={off} onClick={go}>
      <span aria-hidden="true">{text}</span>
    </button>
  );
}
