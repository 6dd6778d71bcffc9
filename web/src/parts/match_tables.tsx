// Matches for progress and gates, newest first.
import { amount, percent } from "../format";
import type { Lines } from "../series";

const NUM_SHOWN = 40;

const interval = (ends: [number | null, number | null] | null, say: (value: number | null) => string) =>
  ends ? `[${ends[0] === null ? "−∞" : say(ends[0])}, ${ends[1] === null ? "∞" : say(ends[1])}]` : "";

function rowsOf(lines: Lines): number[] {
  return Array.from({ length: lines.length }, (_, row) => row).reverse().slice(0, NUM_SHOWN);
}

export function MatchTable({ lines }: { lines: Lines }) {
  const rounded = (value: number | null) => amount(value === null ? null : Math.round(value));
  const number = (name: string, row: number) => lines.numbers(name)[row] ?? null;
  return (
    <section class="panel">
      <h2>Matches</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Matches">
        <table>
          <thead>
            <tr>
              <th scope="col">iteration</th>
              <th scope="col" class="left">player</th>
              <th scope="col" class="left">opponent</th>
              {["games", "won", "drawn", "lost", "score", "95 %", "Elo difference", "95 %"].map((name, at) => <th scope="col" key={at}>{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {rowsOf(lines).map((row) => (
              <tr key={row}>
                <th scope="row">{amount(number("iteration", row))}</th>
                <td class="left">{lines.values<string>("player")[row]}</td>
                <td class="left">{lines.values<string>("opponent")[row]}</td>
                {["games", "wins", "draws", "losses"].map((name) => <td key={name}>{amount(number(name, row))}</td>)}
                <td>{percent(number("score", row), 1)}</td>
                <td class="muted">{interval(lines.values<[number, number]>("score_interval")[row] ?? null, (value) => percent(value, 1))}</td>
                <td>{rounded(number("elo", row))}</td>
                <td class="muted">{interval([number("elo_low", row), number("elo_high", row)], rounded)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function GateTable({ lines }: { lines: Lines }) {
  return (
    <section class="panel">
      <h2>Gates</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Gates">
        <table>
          <thead>
            <tr>
              <th scope="col">iteration</th>
              <th scope="col" class="left">verdict</th>
              <th scope="col" class="left">opponent</th>
              <th scope="col">games</th>
              <th scope="col">score</th>
              <th scope="col" class="left">test</th>
            </tr>
          </thead>
          <tbody>
            {rowsOf(lines).map((row) => {
              const admitted = lines.values<boolean>("admitted")[row];
              return (
                <tr key={row}>
                  <th scope="row">{amount(lines.numbers("iteration")[row])}</th>
                  <td class={`left ${admitted ? "good" : "warn"}`}>{admitted ? "let through" : "held back"}</td>
                  <td class="left">{lines.values<string>("opponent")[row] ?? ""}</td>
                  <td>{amount(lines.numbers("games")[row])}</td>
                  <td>{percent(lines.numbers("score")[row], 1)}</td>
                  <td class="left">{described(lines.values<unknown>("sprt")[row])}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function described(sprt: unknown): string {
  if (typeof sprt === "string") return sprt;
  if (sprt === null || typeof sprt !== "object") return "";
  return Object.entries(sprt)
    .filter(([, value]) => typeof value === "number" || typeof value === "string")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "number" ? amount(value) : value}`)
    .join(", ");
}
