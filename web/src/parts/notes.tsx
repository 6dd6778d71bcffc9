// What went wrong, or was worth a line, newest first.
import { moment } from "../format";
import type { RunStatus } from "../types";

export function Notes({ notes }: { notes: RunStatus["notes"] }) {
  if (notes.length === 0) return null;
  return (
    <section class="panel">
      <h2>Notes</h2>
      <ul class="notes">
        {[...notes].reverse().map((note) => (
          <li key={`${note.time_unix}${note.line}`}>
            <span class="muted figures">{moment(note.time_unix)}</span> {note.line}
          </li>
        ))}
      </ul>
    </section>
  );
}
