// What a host asks of Claude Code over the control protocol, with npm's @anthropic-ai/claude-agent-sdk: hooks, the status
// of MCP servers, the modes, an interrupt, and a run whose input stays open after its result.
// Prints a line for each: its name and what came, or `open` if nothing came within LIMIT_MS.
//
//   node claude_control.mjs

import { execFileSync } from "node:child_process";
import { query } from "@anthropic-ai/claude-agent-sdk";

const LIMIT_MS = 10_000;
const agent = execFileSync("sh", ["-c", "command -v claude"], { encoding: "utf8" }).trim();
const within = (promise) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve("open"), LIMIT_MS))]).catch(
    (error) => `error: ${String(error.message ?? error).split("\n")[0].slice(0, 120)}`,
  );
const say = (name, came) => console.log(`${name}: ${typeof came === "string" ? came : JSON.stringify(came)}`);

const hooked = [];
const hook = (event) => [{ hooks: [async () => (hooked.push(event), { continue: true })] }];
const events = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "Notification"];
const hooks = Object.fromEntries(events.map((event) => [event, hook(event)]));

// the input stays open: whoever wants the run to end says so
let over;
const closed = new Promise((resolve) => (over = resolve));
async function* words() {
  yield { type: "user", message: { role: "user", content: "go" }, parent_tool_use_id: null, session_id: "" };
  await closed;
}
const canUseTool = async (_tool, input) => ({ behavior: "deny", message: "not today", updatedInput: input });
const running = query({ prompt: words(), options: { pathToClaudeCodeExecutable: agent, canUseTool, hooks, settingSources: [] } });

let result;
const told = new Promise((resolve) => (result = resolve));
const ended = (async () => {
  for await (const message of running) if (message.type === "result") result(message.subtype);
  return "ended";
})();
ended.catch(() => result("failed"));

say("result", await within(told));
say("hooks", hooked);
for (const name of ["supportedCommands", "supportedModels", "mcpServerStatus", "accountInfo", "getContextUsage"]) {
  if (typeof running[name] !== "function") continue;
  const came = await within(running[name]());
  say(name, typeof came === "string" ? came : "answered");
}
say("setPermissionMode", (await within(running.setPermissionMode("plan").then(() => "answered"))) ?? "answered");
say("interrupt", (await within(running.interrupt().then(() => "answered"))) ?? "answered");
say("ends while its input is open", await within(ended));
over();
say("ends when its input is closed", await within(ended));
process.exit(0);
