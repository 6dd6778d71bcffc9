// White's expected score as a bar: White's part grows from White's side.
import { percent } from "../format";

export function ValueBar(props: { score: number | null; flipped?: boolean; hidden?: boolean }) {
  const known = props.score !== null;
  const share = props.score ?? 0.5;
  return (
    <div
      class={`value-bar${known ? "" : " unknown"}${props.flipped ? " flipped" : ""}`}
      {...(props.hidden ? { "aria-hidden": true } : { role: "img", "aria-label": `White's expected score ${percent(props.score)}` })}
      title={known ? `White ${percent(share)}` : "not evaluated"}
    >
      <span style={{ height: `${100 * share}%` }} />
    </div>
  );
}
