// Asks what a pawn becomes. Until that is chosen, the keyboard reaches nothing else; then it is where it was.
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Side } from "./settings";

const CHOICES = [
  ["q", "queen"],
  ["r", "rook"],
  ["b", "bishop"],
  ["n", "knight"],
] as const;

export function Promotion({ side, choose }: { side: Side; choose: (letter: string | null) => void }) {
  const choices = useRef<HTMLDivElement>(null);
  const focus = (place: number) => (choices.current?.children[place] as HTMLElement).focus();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    focus(0);
    return () => before?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") choose(null);
    if (event.key !== "Tab") return;
    event.preventDefault();
    const here = [...choices.current!.children].indexOf(document.activeElement!);
    focus((here + (event.shiftKey ? CHOICES.length - 1 : 1)) % CHOICES.length);
  };
  return (
    <div
      class="promotion"
      role="dialog"
      aria-modal="true"
      aria-label="The pawn becomes"
      onKeyDown={onKeyDown}
      onClick={(event) => event.target === event.currentTarget && choose(null)}
    >
      <div class="promotion-choices cg-wrap" ref={choices}>
        {CHOICES.map(([letter, name]) => (
          <button key={letter} type="button" aria-label={name} onClick={() => choose(letter)}>
            {h("piece", { class: `${side} ${name}` })}
          </button>
        ))}
      </div>
    </div>
  );
}
