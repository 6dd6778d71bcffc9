// Labels of a time axis: 14:05 within a day, 11-21 where it spans days, in the reader's time zone.
import type uPlot from "uplot";
import { pad } from "./format";

const DAY_S = 86_400;

function label(unix: number, step: number): string {
  const at = new Date(unix * 1000);
  if (step >= DAY_S) return `${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const minutes = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  return step < 60 ? `${minutes}:${pad(at.getSeconds())}` : minutes;
}

export const timeTicks: Pick<uPlot.Axis, "values" | "space"> = {
  space: 58,
  values: (_, splits) => splits.map((unix) => label(unix, (splits[1] ?? Infinity) - (splits[0] ?? 0))),
};
