// The horizontal axis of curves: samples, time or iteration. The choice stands in the address.
import { go, type Place } from "../router";

export type Axis = "samples" | "time" | "iteration";
const AXES: [Axis, string][] = [["samples", "Samples"], ["time", "Time"], ["iteration", "Iteration"]];

/** The axis that the address names, if it can be used. Self-play has neither samples nor iterations. */
export function axisOf(place: Place, isTraining = true): Axis {
  const asked = place.query.get("x");
  if (!isTraining) return "time";
  return asked === "time" || asked === "iteration" ? asked : "samples";
}

export function AxisChoice({ place }: { place: Place }) {
  const choose = (axis: Axis) => {
    const query = new URLSearchParams(place.query);
    query.set("x", axis);
    go(`#/${place.parts.map(encodeURIComponent).join("/")}?${query}`, true);
  };
  return (
    <div class="row axis-choice" role="group" aria-label="Draw by">
      <span class="muted">by</span>
      {AXES.map(([axis, name]) => (
        <button type="button" key={axis} aria-pressed={axisOf(place) === axis} onClick={() => choose(axis)}>
          {name}
        </button>
      ))}
    </div>
  );
}
