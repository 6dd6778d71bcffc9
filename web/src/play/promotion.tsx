// Asks what a pawn becomes.
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
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div
      class="promotion"
      role="dialog"
      aria-modal="true"
      aria-label="The pawn becomes"
      onKeyDown={(event) => event.key === "Escape" && choose(null)}
      onClick={(event) => event.target === event.currentTarget && choose(null)}
    >
      <div class="promotion-choices cg-wrap">
        {CHOICES.map(([letter, name], place) => (
          <button key={letter} ref={place === 0 ? first : null} type="button" aria-label={name} onClick={() => choose(letter)}>
            {h("piece", { class: `${side} ${name}` })}
          </button>
        ))}
      </div>
    </div>
  );
}
