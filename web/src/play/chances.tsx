// White's chances as a bar, and in figures.
import type { Chances } from "./server";

export function ChancesBar({ chances, source }: { chances: Chances | null; source: string }) {
  return (
    <div class="chances" title={source}>
      <Bar chances={chances} />
      <p class="chances-words figures muted">
        {chances ? (
          <>
            {shares(chances).map((share, at) => (
              <span key={at}>
                {["White", "Draw", "Black"][at]} {share}
              </span>
            ))}
            <span class="chances-source">{source}</span>
          </>
        ) : (
          <span>Not evaluated yet</span>
        )}
      </p>
    </div>
  );
}

/** The three shares side by side; the figures stand beside it as text. */
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

/** White's wins, draws, Black's wins in whole percent whose sum is 100. */
export function shares({ win, draw, loss }: Chances): string[] {
  const exact = [win, draw, loss].map((share) => 100 * share);
  const whole = exact.map(Math.floor);
  const order = [0, 1, 2].sort((a, b) => exact[b]! - whole[b]! - (exact[a]! - whole[a]!));
  const missing = 100 - whole.reduce((sum, value) => sum + value, 0);
  order.slice(0, Math.max(0, missing)).forEach((at) => whole[at]!++);
  return whole.map((value, at) => (value === 0 && exact[at]! > 0 ? "<1 %" : `${value} %`));
}

export function percent(share: number): string {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}
