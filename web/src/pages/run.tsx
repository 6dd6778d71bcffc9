// One run: its head, and the page about it that the address names.
import { Empty } from "../parts/empty";
import { RunHead } from "../parts/state";
import { link } from "../router";
import { useTopic } from "../stream";
import type { Run as RunFacts } from "../types";
import { Boards } from "./boards";
import { GamePage } from "./game";
import { Games } from "./games";
import { Results } from "./results";
import { Strength } from "./strength";
import { Throughput } from "./throughput";
import { Training } from "./training";

export function Run({ parts }: { parts: string[] }) {
  const [id = "", page = "boards", number = ""] = parts;
  const { value, error } = useTopic<RunFacts>(`run/${id}`);
  if (error && !value) {
    return (
      <Empty title="This run cannot be shown">
        {error}. <a href={link([])}>All runs</a>
      </Empty>
    );
  }
  return (
    <>
      <RunHead run={value} id={id} here={page} />
      {value && <Page run={value} page={page} number={number} />}
    </>
  );
}

function Page({ run, page, number }: { run: RunFacts; page: string; number: string }) {
  switch (page) {
    case "boards":
      return <Boards run={run} />;
    case "game":
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
