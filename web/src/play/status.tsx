// What is going on, in a line that screen readers read out.
import { winnerText, type Session } from "./session";
import { named } from "./settings";

export function Status({ session }: { session: Session }) {
  const { error, canRetry, retry, outcome } = session;
  return (
    <div class="play-status" role="status">
      {error ? (
        <>
          <span class="bad">{error}</span>
          {canRetry && (
            <button type="button" onClick={retry}>
              Ask for its move again
            </button>
          )}
        </>
      ) : (
        <span class={outcome ? "over" : ""}>{words(session)}</span>
      )}
    </div>
  );
}

function words({ game, outcome, waiting, settings, at }: Session): string {
  if (!game) return "Setting up …";
  if (outcome) return `${outcome.result}, ${outcome.reason}. ${winnerText(outcome, settings)}.`;
  if (waiting === "starting") return "The engine is starting; the first time this takes a minute or two …";
  if (waiting === "thinking") return `${settings.network} is thinking …`;
  if (at < game.plies.length - 1) return `Move ${at} of ${game.plies.length - 1}`;
  const check = game.plies[at]?.check ? ", in check" : "";
  if (settings.mode === "analyse") return `${named(game.turn)} to move${check}. You play both sides.`;
  return game.turn === settings.side ? `Your move (${named(game.turn)})${check}` : `${named(game.turn)} to move.`;
}
