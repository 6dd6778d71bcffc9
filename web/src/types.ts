// The shapes of the server's answers, which src/vecchess/dash/ writes.

export interface Bottleneck {
  code: string;
  label: string;
  advice: string;
  slowest: string;
  share: number;
}

export type Load = Partial<Record<LoadKey, number>> & { verdict?: string };
export type LoadKey =
  | "plies_per_s" | "games_per_s" | "evals_per_s" | "sims_per_s" | "cache_hit_rate" | "mean_time_steps"
  | "batch_fill" | "full_batches" | "device_busy" | "host_busy" | "mover_busy" | "queue_age_p99_ms" | "games_mb";

/** One run in the table of runs. */
export interface RunLine {
  id: string;
  name: string;
  kind: string;
  state: string;
  is_over: boolean;
  why: string;
  started_unix: number;
  updated_unix: number;
  seconds: number;
  net: string;
  iteration: number;
  iterations: number;
  games: number;
  target: number;
  eta_s: number | null;
  progress: number | null;
  bottleneck: Bottleneck;
  load: Load;
  recorded: number;
  eval: { opponent: string; score: number } | null;
}

export interface Gpu {
  name?: string;
  util?: number;
  memory_mb?: number;
  memory_total_mb?: number;
  power_w?: number;
  temperature_c?: number;
}

export interface Worker {
  index: number;
  device: string;
  stage: string;
  games: number;
  seated: number;
  load: Load;
  gpu?: Gpu;
}

export interface Stats {
  games: number;
  plies: number;
  white_wins: number;
  draws: number;
  black_wins: number;
  terminations: Record<string, number>;
  lengths: Record<string, number>;
  time_steps: Record<string, number>;
  resign_checks: number;
  resign_false_positives: number;
}

export interface RunStatus extends Omit<RunLine, "id" | "name" | "recorded" | "eval"> {
  resume_command: string;
  age_s?: number | null;
  host: string;
  workers: Worker[];
  learning: Record<string, number>;
  restarts: number;
  blocks_checked: number;
  notes: { time_unix: number; line: string }[];
}

/** One run in full. */
export interface Run {
  id: string;
  name: string;
  status: RunStatus;
  stats: Stats;
  networks: number;
  newest_network: string;
  /** Time of the newest rating; 0 where there is none. */
  rated_unix: number;
  /** Rates the run's networks against each other. */
  rating_command: string;
  kinds: Record<string, number>;
}

/** A page of the list of recorded games. */
export interface GamePage {
  total: number;
  first: number;
  per_page: number;
  games: { number: number; plies: number; result: string; termination: string; why?: string }[];
}

/** One board of the grid. */
export interface SmallBoard {
  seat: string;
  number: number;
  fen: string;
  last: string;
  ply: number;
  white_score: number | null;
  steps: number;
  result: string;
  termination: string;
  over: boolean;
}

export interface Game {
  number: number;
  worker: number | null;
  start_fen: string;
  fens: string[];
  ucis: string[];
  sans: string[];
  white_score: (number | null)[];
  steps: number[];
  visits: number[];
  result: string;
  termination: string;
  is_live: boolean;
  net: string;
  /** Numbers of the recorded games beside it. */
  previous: number | null;
  next: number | null;
}

/** A chart of measurements: `curves` are fields of the lines of `kind` and their names. */
export interface ChartSpec {
  key: string;
  kind: "learn" | "load";
  title: string;
  curves: [field: string, name: string][];
  share: boolean;
  from_zero: boolean;
}

/** Facts about a run in words, and its settings that are not the defaults. */
export interface Facts {
  facts: [name: string, value: string][];
  settings: [name: string, value: string][];
}

/** Lines of metrics, by column. */
export interface Columns {
  kind: string;
  count: number;
  columns: Record<string, unknown[]>;
}

export interface Newest {
  counts: Record<string, number>;
  last: Record<string, Record<string, unknown>>;
}

export interface Rated {
  player: string;
  samples: number;
  elo: number | null;
  elo_low: number | null;
  elo_high: number | null;
  /** What it took to make, by unit. */
  cost?: Record<string, unknown>;
}
