// What stands where there is nothing to show yet, and says what to do.
import type { ComponentChildren } from "preact";

export function Empty(props: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <section class="empty">
      <h2>{props.title}</h2>
      {props.children && <p>{props.children}</p>}
      {props.command && <pre tabIndex={0}>{props.command}</pre>}
    </section>
  );
}
