// One run: its head, and the page about it that the address names.
import type { ComponentChildren } from "preact";
import { report } from "../api";
import { Empty } from "../parts/empty";
import { FactsOfRun } from "../parts/facts";
import { RunHead } from "../parts/state";
import { link } from "../router";
import { useTopic } from "../stream";
import type { Rated, Run as RunFacts } from "../types";
import { Boards } from "./boards";
import { GamePage } from "./game";
import { Games } from "./games";
import { Results } from "./results";
import { Strength } from "./strength";
import { Throughput } from "./throughput";
import { Training } from "./training";

/** What the server takes as the name of a run, and as the number of a game. */
const [NAME, NUMBER] = [/^[\w-]([\w.-]*[\w-])?$/, /^\d{1,15}$/];

export function Run({ parts }: { parts: string[] }) {
  const [id = "", page = report ? "" : "boards", number = ""] = parts;
  const isName = NAME.test(id);
  const { value, error } = useTopic<RunFacts>(isName ? `run/${id}` : null);
  if (!isName || (error && !value)) {
    return (
      <Empty title="This run cannot be shown">
        {error ?? "No run has this name"}. <a href={link([])}>All runs</a>
      </Empty>
    );
  }
  return (
    <>
      <RunHead run={value} id={id} here={page} />
      {value && (report && page !== "game" ? <Report run={value} /> : <Page run={value} page={page} number={number} />)}
    </>
  );
}

/** All pages that have something to show, one below the other: what is sent or printed is read at one go. */
function Report({ run }: { run: RunFacts }) {
  const { kinds } = run;
  const isRated = ["elo", "costs"].some((name) => (report?.answers[`/api/runs/${run.id}/${name}`] as Rated[]).length > 0);
  const parts: [string, boolean, ComponentChildren][] = [
    ["Facts", true, <FactsOfRun run={run} />],
    ["Strength", "eval" in kinds || "gate" in kinds || isRated, <Strength run={run} />],
    ["Learning", "learn" in kinds, <Training run={run} />],
    ["Throughput", "load" in kinds || run.status.notes.length > 0, <Throughput run={run} />],
    ["Results", true, <Results run={run} />],
    ["Games", run.stats.games > 0, <Games run={run} />],
  ];
  return (
    <>
      {parts.filter(([, isThere]) => isThere).map(([title, , part]) => (
        <section key={title} class="report-part" aria-label={title}>
          <h2>{title}</h2>
          {part}
        </section>
      ))}
    </>
  );
}

function Page({ run, page, number }: { run: RunFacts; page: string; number: string }) {
  switch (page) {
    case "facts":
      return <FactsOfRun run={run} />;
    case "boards":
      return <Boards run={run} />;
    case "game":
      if (!NUMBER.test(number)) return <Empty title="No such game">A game has a number.</Empty>;
      return <GamePage key={number} run={run} number={Number(number)} />;
    case "games":
      return <Games run={run} />;
    case "throughput":
      return <Throughput run={run} />;
    case "training":
      return <Training run={run} />;
    case "strength":
      return <Strength run={run} />;
    case "results":
      return <Results run={run} />;
    default:
      return <Empty title="No such page">A run has no page of this name.</Empty>;
  }
}
