// The line at the top: where one can go, and the switch between light and dark.
import { report } from "../api";
import { hasEngine } from "../engine/client";
import icon from "../icon.svg";
import { link, type Place } from "../router";
import { switchTheme, useTheme } from "../theme";

const canCompare = !report || (report.answers["/api/runs"] as unknown[]).length > 1;

export function Header({ place }: { place: Place }) {
  const [first = "runs"] = place.parts;
  return (
    <header class="top">
      <a class="brand" href="#/">
        <img src={icon} width="22" height="22" alt="" />
        vecchess
      </a>
      <nav aria-label="Pages">
        {!hasEngine && <Entry here={first === "runs" || first === "run"} href="#/" text="Runs" />}
        {canCompare && !hasEngine && <Entry here={first === "compare"} href={link(["compare"])} text="Compare" />}
        {!report && <Entry here={first === "play"} href={link(["play"])} text="Play" />}
      </nav>
      <ThemeSwitch />
    </header>
  );
}

export function Entry(props: { here: boolean; href: string; text: string }) {
  return (
    <a href={props.href} aria-current={props.here ? "page" : undefined}>
      {props.text}
    </a>
  );
}

function ThemeSwitch() {
  const dark = useTheme() === "dark";
  return (
    <button class="quiet theme" type="button" onClick={switchTheme} aria-label={dark ? "Light colours" : "Dark colours"}>
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d={dark ? "M10 3a7 7 0 0 0 0 14z" : "M10 3a7 7 0 0 1 0 14z"} fill="currentColor" />
      </svg>
    </button>
  );
}
