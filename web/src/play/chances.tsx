// White's chances as a bar, and in figures.
import type { Chances } from "./server";

export function ChancesBar({ chances, source }: { chances: Chances | null; source: string }) {
  return (
    <div class="chances" title={source}>
      <Bar chances={chances} />
      <p class="chances-words figures muted">
        {chances ? (
          <>
            <span>White {percent(chances.win)}</span>
            <span>Draw {percent(chances.draw)}</span>
            <span>Black {percent(chances.loss)}</span>
            <span class="chances-source">{source}</span>
          </>
        ) : (
          <span>No word on this position yet</span>
        )}
      </p>
    </div>
  );
}

/** The three shares side by side; the figures are told in words beside it. */
export function Bar({ chances }: { chances: Chances | null }) {
  const { win, draw, loss } = chances ?? { win: 0, draw: 1, loss: 0 };
  return (
    <div class="bar" aria-hidden="true">
      <span class="bar-white" style={{ flexGrow: win }} />
      <span class="bar-draw" style={{ flexGrow: draw }} />
      <span class="bar-black" style={{ flexGrow: loss }} />
    </div>
  );
}

export function percent(share: number): string {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}
