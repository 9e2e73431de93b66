// Calls every method of npm's @opencode-ai/sdk once with made-up arguments, first against the real opencode 1.18.33 that
// is installed beside the SDK, then against the fake of PATH, and prints where the two answer with another status.
// A stream is `stream`; a call that is not over after LIMIT_MS is `open`.
//
//   node opencode_methods.mjs default|v2

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const LIMIT_MS = 15_000;
const [flavour] = process.argv.slice(2);
const v2 = flavour === "v2";
const { createOpencode } = await import(v2 ? "@opencode-ai/sdk/v2" : "@opencode-ai/sdk");
// the release asks no host for anything: there is none
for (const name of ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"]) process.env[`OPENCODE_DISABLE_${name}`] = "1";

// what ends the server, or the run of this list, comes last
const LAST = /^(global\.dispose|instance\.dispose|session\.delete)$/;
// by hand in a browser, or from a hub
const LEFT_OUT = /oauth|auth\.|upgrade|share|github|pty\.connect/i;

// the status of each method, by its name
async function statuses(path) {
  process.env.PATH = path;
  const { client, server } = await createOpencode({ port: 0, timeout: 60_000 });
  const made = await client.session.create(v2 ? { title: "methods" } : { body: { title: "methods" } });
  const session = made.data.id;
  const found = new Map();
  const methods = [];
  const walk = (thing, path, depth) => {
    const proto = Object.getPrototypeOf(thing);
    for (const name of Object.getOwnPropertyNames(proto)) {
      if (name === "constructor" || name.startsWith("_")) continue;
      const getter = Object.getOwnPropertyDescriptor(proto, name);
      const value = thing[name];
      if (getter.get && value && typeof value === "object") walk(value, [...path, name], depth + 1);
      else if (typeof value === "function" && path.length) methods.push([[...path, name].join("."), value.bind(thing)]);
    }
    for (const name of Object.keys(thing)) {
      if (name.startsWith("_") || name === "client") continue;
      const value = thing[name];
      if (value && typeof value === "object" && depth < 4) walk(value, [...path, name], depth + 1);
    }
  };
  walk(client, [], 0);
  const named = new Map(methods);
  const order = [...named.keys()].filter((name) => !LEFT_OUT.test(name)).sort();
  order.sort((a, b) => Number(LAST.test(a)) - Number(LAST.test(b)));

  const ids = {
    id: session, sessionID: session, messageID: "msg_none", partID: "prt_none", permissionID: "per_none", requestID: "que_none",
    ptyID: "pty_none", projectID: "none", providerID: "none", workspaceID: "wrk_none", name: "none", directory: undefined,
  };
  for (const name of order) {
    const given = v2
      ? { sessionID: session, path: ".", pattern: "a", query: "a" }
      : { path: ids, query: { path: ".", pattern: "a", query: "a" }, body: {} };
    if (v2 && /message|part/i.test(name)) Object.assign(given, { messageID: ids.messageID, partID: ids.partID });
    if (v2 && /question|permission/.test(name)) Object.assign(given, { requestID: ids.requestID, permissionID: ids.permissionID });
    if (v2 && /^(project|mcp|pty|worktree|workspace)/.test(name)) Object.assign(given, { projectID: "none", name: "none", ptyID: "pty_none" });
    const over = new Promise((resolve) => setTimeout(() => resolve("open"), LIMIT_MS));
    const call = (async () => {
      // a GET takes no body, and the client says so only when it is called
      const { body, ...bare } = given;
      const out = await named.get(name)(given).catch((error) => {
        if (body && /cannot have body/.test(error)) return named.get(name)(bare);
        throw error;
      });
      if (out?.stream) return "stream";
      return out?.response?.status ?? typeof out;
    })().catch((error) => `error ${String(error.message ?? error).slice(0, 60)}`);
    found.set(name, String(await Promise.race([call, over])));
  }
  server.close();
  return found;
}

const fakes = process.env.PATH;
const here = dirname(fileURLToPath(import.meta.url));
const release = await statuses(`${here}/node_modules/opencode-linux-${process.arch}/bin:${fakes}`);
const fake = await statuses(fakes);
for (const [name, status] of release) if (fake.get(name) !== status) console.log(`${name}: ${status}, the fake ${fake.get(name)}`);
console.log(`${release.size} methods called`);
process.exit(0);
