// Where we are: what stands behind the # of the address. "#/run/first/game/12?x=time" has the parts
// ["run", "first", "game", "12"] and the query {x: "time"}.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  parts: string[];
  query: URLSearchParams;
}

export function readPlace(hash: string = location.hash): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** The address of a place inside these pages, for href. */
export function link(parts: (string | number)[], query: Record<string, string> = {}): string {
  const path = parts.map((part) => encodeURIComponent(String(part))).join("/");
  const asked = new URLSearchParams(query).toString();
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

/** Go there. `replace`: without a step in the browser's history. */
export function go(address: string, replace = false): void {
  if (replace) {
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = address;
  }
}

export function usePlace(): Place {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    const follow = () => setPlace(readPlace());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
