// Recorded games, dropped onto the page and played again: every bit has to be as the server wrote it.
import { useRef, useState } from "preact/hooks";
import { listenToEngine } from "../engine/client";
import type { Comparison } from "../engine/replay";

export function Replay() {
  const [found, setFound] = useState<Comparison | null>(null);
  const [said, setSaid] = useState("");
  const stop = useRef<AbortController | null>(null);

  const compare = async (file: File | undefined) => {
    if (!file) return;
    stop.current?.abort();
    const now = (stop.current = new AbortController());
    setFound(null);
    setSaid(`Reading ${file.name} …`);
    try {
      await listenToEngine("/replay", { file }, now.signal, (event: Comparison) => {
        setFound(event);
        setSaid("");
      });
    } catch (failure) {
      if (!now.signal.aborted) setSaid((failure as Error).message);
    }
  };

  return (
    <section
      class="panel"
      aria-label="Replay"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void compare(event.dataTransfer?.files[0]);
      }}
    >
      <h2>Replay</h2>
      <p class="muted">
        Drop a shard of self-play here, or a PGN written with <code>export pgn --bits</code>: this page plays its games
        again and compares every value that was recorded.
      </p>
      <label>
        <span class="hidden">A shard or a PGN</span>
        <input type="file" accept=".npz,.pgn" onChange={(event) => void compare(event.currentTarget.files?.[0])} />
      </label>
      <p role="status">{said || (found && words(found))}</p>
      {found && found.differences.length > 0 && (
        <ul>
          {found.differences.map((difference) => (
            <li key={difference}>{difference}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function words({ games, done, plies, identical }: Comparison): string {
  const so = `${done} of ${games} games, ${plies.toLocaleString("en")} plies`;
  if (done === 0) return `${so} …`;
  return `${so}: ` + (identical === done ? "every bit as recorded." : `${done - identical} differ.`);
}
