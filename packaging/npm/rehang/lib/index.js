// Why a process does not move, and guard around a command: the binary's own answers, as objects. Types: index.d.ts.
//
// Invariant: nothing is decided here. `why` is `rehang why --json`, `supervise` is `rehang supervise --events`.
"use strict";

const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");
const { binary } = require("./binary.js");

/** `rehang` has no answer. `kind`: `no-process`, `usage` or `internal`. */
class RehangError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "RehangError";
    this.kind = kind;
  }
}

const USAGE = 2;

async function text(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
}

function exists(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

function options(name, values = []) {
  return values.flatMap((value) => [name, String(value)]);
}

exports.RehangError = RehangError;

exports.why = async (pid, { agents, ask = true, windowMs = 1000, silentMs = 60000 } = {}) => {
  if (!Number.isInteger(pid) || pid <= 0 || pid >= 2 ** 31) throw new RehangError("usage", `${pid} is no process id`);
  const limits = ["--window", `${windowMs}ms`, "--silent", `${silentMs}ms`];
  const args = ["why", String(pid), "--json", ...limits, ...(ask ? [] : ["--no-ask"]), ...options("--agent", agents)];
  const child = spawn(binary(), args, { stdio: ["ignore", "pipe", "pipe"] });
  const [code, out, said] = await Promise.all([ended(child), text(child.stdout), text(child.stderr)]);
  if (out) return JSON.parse(out);
  const kind = code !== USAGE ? "internal" : exists(pid) ? "usage" : "no-process";
  throw new RehangError(kind, said.trim().replace(/^error: /, "") || `rehang ended with ${code}`);
};

exports.supervise = (argv, { strategy = "guard", agents, dryRun = false, stdio = "inherit", cwd, env, pace = 1 } = {}) => {
  const flags = ["--strategy", strategy, ...options("--agent", agents), "--pace", `${pace}`, ...(dryRun ? ["--dry-run"] : [])];
  const streams = Array.isArray(stdio) ? stdio.slice(0, 3) : [stdio, stdio, stdio];
  const spawned = { stdio: [...streams, "pipe"], cwd, env };
  const child = spawn(binary(), ["supervise", ...flags, "--events", "fd:3", "--", ...argv], spawned);
  const lines = createInterface({ input: child.stdio[3] });
  const end = ended(child);
  // a caller that reads only the events is told there
  end.catch(() => {});
  async function* events() {
    for await (const line of lines) yield JSON.parse(line);
    await end;
  }
  return { child, events: events(), code: end };
};
