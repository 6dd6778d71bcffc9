// The opponent, and how strong it plays.
import type { Offer } from "./server";
import type { Session } from "./session";
import { strengths, type Mode } from "./settings";

const MODES: [Mode, string][] = [
  ["play", "Play"],
  ["analyse", "Analyse"],
];

export function Opponent({ offer, session }: { offer: Offer; session: Session }) {
  const { settings, choose } = session;
  return (
    <section class="panel opponent" aria-label="Opponent">
      <div class="row modes" role="group" aria-label="What to do">
        {MODES.map(([mode, name]) => (
          <button key={mode} type="button" aria-pressed={settings.mode === mode} onClick={() => choose({ mode })}>
            {name}
          </button>
        ))}
      </div>
      <Choice
        label="Network"
        value={settings.network}
        options={offer.networks.map((name) => [name, name === offer.built_in ? `${name} (counts material)` : name])}
        choose={(network) => choose({ network })}
      />
      {settings.mode === "play" && (
        <Choice
          label="Strength"
          value={settings.strength}
          options={strengths(offer, settings.network)}
          choose={(strength) => choose({ strength })}
        />
      )}
    </section>
  );
}

export function Choice(props: {
  label: string;
  value: string;
  options: [string, string][];
  choose: (value: string) => void;
}) {
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value} selected={value === props.value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
