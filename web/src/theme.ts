// Light or dark: as the system has it, until it is switched; the choice is remembered.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const KEY = "vecchess-theme";
const DARK = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function remembered(): Theme | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null; // storage may be forbidden
  }
}

let chosen = remembered();

export function currentTheme(): Theme {
  return chosen ?? (DARK.matches ? "dark" : "light");
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = currentTheme();
  for (const tell of listeners) tell();
}

export function switchTheme(): void {
  chosen = currentTheme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // then it holds for this page only
  }
  applyTheme();
}

/** The theme now; who uses it is drawn again when it changes. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState(currentTheme);
  useEffect(() => {
    const tell = () => setTheme(currentTheme());
    listeners.add(tell);
    return () => void listeners.delete(tell);
  }, []);
  return theme;
}

/** The value of a CSS variable, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function calm(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

DARK.addEventListener("change", applyTheme);
