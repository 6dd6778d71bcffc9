// The shell: the line at the top, and the page that the address names.
import { useEffect, useRef } from "preact/hooks";
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
      <main ref={main} tabIndex={-1}>
        <Page place={place} />
      </main>
    </>
  );
}

function Page({ place }: { place: Place }) {
  const [first] = place.parts;
  if (first === "play") return <Play />;
  return <Empty title="No such page" command="#/" />;
}
