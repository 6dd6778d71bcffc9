// The shell: the line at the top, and the page that the address names.
import { useEffect, useRef } from "preact/hooks";
import { report } from "./api";
import { moment } from "./format";
import { hasEngine } from "./engine/client";
import { Compare } from "./pages/compare";
import { Run } from "./pages/run";
import { Runs } from "./pages/runs";
import { ConnectionLine } from "./parts/connection";
import { Empty } from "./parts/empty";
import { Header } from "./parts/header";
import { Play } from "./play";
import { usePlace, type Place } from "./router";

export function App() {
  const place = usePlace();
  const main = useRef<HTMLElement>(null);
  const path = place.parts.join("/");
  useEffect(() => {
    document.title = [...place.parts].reverse().concat("vecchess").join(" · ");
  }, [path]);
  return (
    <>
      <a class="skip" href={location.hash || "#/"} onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        To the content
      </a>
      <Header place={place} />
      <ConnectionLine />
      <main ref={main} tabIndex={-1}>
        <Page place={place} />
      </main>
      {report && <footer class="muted small">vecchess {report.version}, report of {moment(report.written_unix)}</footer>}
    </>
  );
}

function Page({ place }: { place: Place }) {
  const [first] = hasEngine ? ["play"] : place.parts;
  switch (first) {
    case undefined:
      return <Runs />;
    case "run":
      return <Run parts={place.parts.slice(1)} />;
    case "compare":
      return <Compare />;
    case "play":
      return <Play />;
    default:
      return (
        <Empty title="No such page">
          <a href="#/">All runs</a> are a good place to start.
        </Empty>
      );
  }
}
