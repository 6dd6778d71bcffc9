// The recorded games of a run: a list to filter, order and leaf through. The choice stands in the address.
import { report, useGet } from "../api";
import { amount, words } from "../format";
import { Empty } from "../parts/empty";
import { go, link, usePlace, type Place } from "../router";
import type { GamePage, Run } from "../types";

const RESULTS: [string, string][] = [["", "any result"], ["1-0", "White won"], ["1/2-1/2", "drawn"], ["0-1", "Black won"]];
const ORDERS: [string, string][] = [["newest", "newest first"], ["oldest", "oldest first"], ["shortest", "shortest first"], ["longest", "longest first"]];
const KEYS = ["result", "ending", "order", "first"] as const;

export function Games({ run }: { run: Run }) {
  const place = usePlace();
  const asked = Object.fromEntries(KEYS.flatMap((key) => (place.query.get(key) ? [[key, place.query.get(key)!]] : [])));
  const { value, error } = useGet<GamePage>(`/api/runs/${run.id}/games?${new URLSearchParams(asked)}`, run.stats.games);
  if (run.stats.games === 0) {
    return <Empty title="No recorded game yet">Finished games are recorded every half a minute, or when 1,024 of them are there.</Empty>;
  }
  const change = (key: string, to: string) => go(link(["run", run.id, "games"], { ...asked, first: "0", [key]: to }), true);
  const endings: [string, string][] = Object.keys(run.stats.terminations).sort().map((name) => [name, words(name)]);
  return (
    <section class="panel">
      {report ? <p class="muted">Of {amount(run.stats.games)} recorded games the report has these.</p> : <div class="row">
        <Select label="Result" value={asked["result"] ?? ""} options={RESULTS} choose={(to) => change("result", to)} />
        <Select label="Ending" value={asked["ending"] ?? ""} options={[["", "any ending"], ...endings]} choose={(to) => change("ending", to)} />
        <Select label="Order" value={asked["order"] ?? "newest"} options={ORDERS} choose={(to) => change("order", to)} />
      </div>}
      {error && <p class="bad">{error.message}</p>}
      {value && <List run={run.id} page={value} place={place} />}
    </section>
  );
}

function Select(props: { label: string; value: string; options: [string, string][]; choose: (to: string) => void }) {
  return (
    <label class="row">
      {props.label}
      <select value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

function List({ run, page, place }: { run: string; page: GamePage; place: Place }) {
  if (page.games.length === 0) return <p class="muted">No recorded game is of this kind.</p>;
  return (
    <>
      <table class="game-list">
        <thead>
          <tr>
            <th scope="col">game</th>
            <th scope="col" class="left">result</th>
            <th scope="col" class="left">ending</th>
            <th scope="col">plies</th>
            {report && <th scope="col" class="left">chosen as</th>}
          </tr>
        </thead>
        <tbody>
          {page.games.map((game) => (
            <tr key={game.number} onClick={() => go(link(["run", run, "game", game.number]))}>
              <th scope="row"><a href={link(["run", run, "game", game.number])}>{game.number}</a></th>
              <td class="left">{game.result.replace("1/2-1/2", "½–½")}</td>
              <td class="left">{words(game.termination)}</td>
              <td>{amount(game.plies)}</td>
              {report && <td class="left why">{game.why}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {!report && <Pager page={page} place={place} />}
    </>
  );
}

function Pager({ page, place }: { page: GamePage; place: Place }) {
  const at = (first: number) => link(place.parts, { ...Object.fromEntries(place.query), first: String(Math.max(0, first)) });
  const last = page.first + page.games.length;
  return (
    <nav class="row" aria-label="Pages of the list">
      {page.first > 0 && <a href={at(page.first - page.per_page)}>Previous</a>}
      {last < page.total && <a href={at(last)}>Next</a>}
      <span class="muted figures">
        {amount(page.first + 1)} to {amount(last)} of {amount(page.total)} games
      </span>
    </nav>
  );
}
