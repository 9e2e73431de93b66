import { ChildProcess, StdioOptions } from "node:child_process";

/** What a process does. */
export type State = "working" | "waits-for-person" | "waits-for-peer" | "cannot-go-on" | "unknown";
export type Verdict = "hung" | "waiting" | "working" | "ended" | "unknown";
export type Sure = "certain" | "likely" | "guess";

/** Who is to act next: a process, or somebody out of sight (`pid` is null). */
export interface Owes {
  pid: number | null;
  name: string;
}

/** A process waits for somebody. */
export interface Wait {
  from: number;
  to: { process: number } | { outside: string } | "nobody";
  over: string;
  which?: string;
}

/** Why a process does not move, or that it does. More fields may come: docs/embed.md. */
export interface Why {
  v: 1;
  state: State;
  owes: Owes | null;
  /** For at least how many milliseconds that has been so; null if it works, or if its state is not known. */
  for_ms: number | null;
  verdict: Verdict;
  signature: string;
  mechanism: string | null;
  /** The process that this is about: the one that was asked about, or one below it. */
  pid: number;
  is_root: boolean;
  /** With `sure` as `certain`: nobody alive or out of sight can end the wait. */
  closed_in: boolean;
  sure: Sure;
  sentence: string;
  because: string;
  /** What would end it. */
  ends: string;
  /** What could end a hang and cannot be seen. */
  out_of_sight?: string[];
  /** The processes of which the end alone would let the agent go on. */
  parts?: number[];
  /** After how many more milliseconds a wait counts as a hang. */
  hung_in_ms?: number;
  graph: { nodes: object[]; edges: Wait[]; closed: number[][] };
}

export interface WhyOptions {
  /** Programs that count as agents, though rehang does not know them. */
  agents?: string[];
  /** Whether agents' servers are asked on loopback, and agents' own records are read. Default: true. */
  ask?: boolean;
  /** How long to look. Default: 1000. */
  windowMs?: number;
  /** How long a connection must bring no byte to count as silent. Default: 60000. */
  silentMs?: number;
}

/** `rehang` has no answer. */
export class RehangError extends Error {
  kind: "no-process" | "usage" | "internal";
}

/** Says why a process does not move. Rejects with a `RehangError`. */
export function why(pid: number, options?: WhyOptions): Promise<Why>;

interface At {
  v: 1;
  /** Milliseconds since the start. */
  ms: number;
  /** How many events before this one were left out. */
  lost?: number;
}

/** What guard sees, plans and does: docs/events.md. */
export type Event = At &
  (
    | { event: "start"; argv: string[]; pid: number; strategies: string[]; dry_run: boolean; unix_ms: number }
    | { event: "look"; verdict: Verdict; signature: string; sure: Sure; pid: number; since_ms: number; sentence: string;
        because: string; ends: string; closed_in: boolean; last_line: string; waits: Wait[] }
    | { event: "plan"; by: string; does: "end" | "end-part" | "take-as-over"; cause: string; text: string;
        pid: number | null; since_ms: number; at_ms: number }
    | { event: "moved" }
    | { event: "act"; by: string; does: "signal" | "end"; signal?: string; done: boolean; cause: string; text: string;
        constants: Record<string, number>; processes: string[] }
    | { event: "end"; code: number; by: string | null; reason: string | null; ended: string[]; left: string[];
        evidence: string | null }
  );

export interface SuperviseOptions {
  /** As `rehang supervise --strategy` takes it. Default: guard. */
  strategy?: string;
  agents?: string[];
  /** Only report what would be done. */
  dryRun?: boolean;
  /** The command's stdin, stdout and stderr, as `spawn` takes them. Default: the caller's own. */
  stdio?: StdioOptions;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

export interface Supervised {
  /** `rehang supervise`, which runs the command; its stdin, stdout and stderr are the command's. */
  child: ChildProcess;
  /** Ends after the event `end`. */
  events: AsyncIterable<Event>;
  /** The exit code of `rehang supervise`, or the signal that ended it. Rejects if it cannot be started. */
  code: Promise<number | string>;
}

/** Runs a command under guard. */
export function supervise(argv: string[], options?: SuperviseOptions): Supervised;
