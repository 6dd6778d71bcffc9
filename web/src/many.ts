// The answers to several questions at once.
import { useEffect, useState } from "preact/hooks";
import { get } from "./api";

/** An answer for each path, null while it is on its way or where there is none; asked anew when `turn` changes. */
export function useAll<T>(paths: string[], turn: unknown = 0): (T | null)[] {
  const [answers, setAnswers] = useState<{ key: string; found: (T | null)[] }>({ key: "", found: [] });
  const key = paths.join(" ");
  useEffect(() => {
    let wanted = true;
    Promise.all(paths.map((path) => get<T>(path).catch(() => null))).then((found) => wanted && setAnswers({ key, found }));
    return () => {
      wanted = false;
    };
  }, [key, turn]);
  return answers.key === key ? answers.found : NONE;
}

const NONE: never[] = [];
