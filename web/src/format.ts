// Numbers and times as people read them. A dash stands for what is not known.
const DASH = "–";

type Maybe = number | null | undefined;

const known = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

/** 12,345 or 3.21: about three digits that count. */
export function amount(value: Maybe): string {
  if (!known(value)) return DASH;
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size === 0 ? 2 : 4;
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return value.toLocaleString("en", { minimumFractionDigits: size < 100 && !Number.isInteger(value) ? digits : 0, maximumFractionDigits: digits });
}

/** 1.2 M, 34 k: for axes. */
export function short(value: Maybe): string {
  if (!known(value)) return DASH;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)} G`;
  if (size >= 1e6) return `${trim(value / 1e6)} M`;
  if (size >= 1e4) return `${trim(value / 1e3)} k`;
  if (size > 0 && size < 0.001) return value.toExponential(0);
  return trim(value);
}

function trim(value: number): string {
  return String(Number(value.toPrecision(4)));
}

export function percent(value: Maybe, digits = 0): string {
  return known(value) ? `${(100 * value).toFixed(digits)} %` : DASH;
}

/** 75 as 1:15, 3725 as 1:02:05, days beyond that. */
export function clock(seconds: Maybe): string {
  if (!known(seconds)) return DASH;
  const whole = Math.max(Math.round(seconds), 0);
  if (whole >= 172_800) return `${(whole / 86_400).toFixed(1)} days`;
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
}

/** 7 as 07. */
export const pad = (value: number) => String(value).padStart(2, "0");

/** 2026-11-21 14:03, in the reader's time zone. */
export function moment(unix: Maybe): string {
  if (!known(unix) || unix === 0) return DASH;
  const at = new Date(unix * 1000);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

/** insufficient_material as "insufficient material". */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}
