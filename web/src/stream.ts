// Server-sent events. One connection carries the topics of all that is on the page; it is closed while the
// page is hidden, and opened again after it was lost.
import { useEffect, useState } from "preact/hooks";
import { get, report, type ApiError } from "./api";

export interface Heard<T> {
  value: T | null;
  error: string | null;
}

export interface Connection {
  isLost: boolean;
  /** Why, in a line for people. */
  why: string;
}

const SILENCE_MS = 25_000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

type Listener = (data: string) => void;

const listeners = new Map<string, Set<Listener>>();
const newest = new Map<string, string>();
const watchers = new Set<() => void>();
let connection: Connection = { isLost: false, why: "" };
let source: EventSource | null = null;
let open: string[] = [];
let wait = FIRST_WAIT_MS;
let retry = 0;
let silence = 0;
let pending = false;

function setConnection(now: Connection): void {
  connection = now;
  for (const tell of watchers) tell();
}

function close(): void {
  source?.close();
  source = null;
  open = [];
  clearTimeout(retry);
  clearTimeout(silence);
}

/** Listen to what is wanted now, if it is not what is being listened to. */
function reopen(): void {
  pending = false;
  if (report) return;
  const wanted = document.hidden ? [] : [...listeners.keys()].sort();
  if (source && wanted.join() === open.join()) return;
  close();
  if (wanted.length === 0) return;
  open = wanted;
  const query = wanted.map((topic) => `t=${encodeURIComponent(topic)}`).join("&");
  source = new EventSource(`/api/events?${query}`);
  source.onerror = lost;
  source.addEventListener("hello", alive);
  source.addEventListener("beat", alive);
  for (const topic of wanted) {
    source.addEventListener(topic, (event: MessageEvent<string>) => {
      alive();
      newest.set(topic, event.data);
      for (const listener of listeners.get(topic) ?? []) listener(event.data);
    });
  }
  silence = window.setTimeout(lost, SILENCE_MS);
}

function soon(): void {
  if (!pending) {
    pending = true;
    queueMicrotask(reopen);
  }
}

function alive(): void {
  wait = FIRST_WAIT_MS;
  clearTimeout(silence);
  silence = window.setTimeout(lost, SILENCE_MS);
  if (connection.isLost) setConnection({ isLost: false, why: "" });
}

function lost(): void {
  close();
  retry = window.setTimeout(reopen, wait);
  wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  get("/api/about").then(
    () => source === null && setConnection({ isLost: true, why: "The server sends nothing: perhaps too many pages are open." }),
    (error: ApiError) => setConnection({ isLost: true, why: error.message }),
  );
}

document.addEventListener("visibilitychange", soon);
addEventListener("online", soon);

/** The newest value of a topic; null subscribes to nothing. */
export function useTopic<T>(topic: string | null): Heard<T> {
  const [heard, setHeard] = useState<Heard<T> & { topic: string | null }>(() => first<T>(topic));
  useEffect(() => {
    if (topic === null) return;
    const listener = (data: string) => setHeard((old) => parsed<T>(topic, data, old.topic === topic ? old.value : null));
    const here = listeners.get(topic) ?? new Set();
    listeners.set(topic, here.add(listener));
    soon();
    return () => {
      here.delete(listener);
      if (here.size === 0) {
        listeners.delete(topic);
        newest.delete(topic);
      }
      soon();
    };
  }, [topic]);
  return heard.topic === topic ? heard : first<T>(topic);
}

/** The value of a topic that a report brings along. */
function reported<T>(topic: string): Heard<T> & { topic: string } {
  const value = report?.answers[topic === "runs" ? "/api/runs" : topic.replace(/^run\//, "/api/runs/")] as T | undefined;
  return { topic, value: value ?? null, error: value === undefined ? "It is not in this report" : null };
}

function first<T>(topic: string | null): Heard<T> & { topic: string | null } {
  if (report && topic !== null) return reported<T>(topic);
  const data = topic === null ? undefined : newest.get(topic);
  return topic !== null && data !== undefined ? parsed<T>(topic, data, null) : { topic, value: null, error: null };
}

/** An error leaves what was known before. */
function parsed<T>(topic: string, data: string, before: T | null): Heard<T> & { topic: string } {
  const value = JSON.parse(data) as T | { error: string };
  if (typeof value === "object" && value !== null && "error" in value) {
    return { topic, value: before, error: value.error as string };
  }
  return { topic, value: value as T, error: null };
}

export function useConnection(): Connection {
  const [, draw] = useState(0);
  useEffect(() => {
    const tell = () => draw((n) => n + 1);
    watchers.add(tell);
    return () => void watchers.delete(tell);
  }, []);
  return connection;
}
