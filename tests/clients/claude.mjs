// A host of Claude Code made of npm's @anthropic-ai/claude-agent-sdk. Exit code 0: the run came to a success; 1: it did not.
// CHECK=1 (as `cargo xtask clients` has it) checks besides what the agent and the SDK told each other.
//
// `guarded`: never answers, and rehang's guard, around the agent, decides how long the run is waited for.
//
//   node claude.mjs answers|denies|never|guarded [PROMPT]

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { query } from "@anthropic-ai/claude-agent-sdk";

const [policy, prompt = "go"] = process.argv.slice(2);
const check = process.env.CHECK === "1";
const asked = [];
let running;
let never;

const canUseTool = async (tool, input) => {
  asked.push(tool);
  if (policy === "never" || policy === "guarded") {
    // whoever should answer is not there; a host that knows gives the turn up
    if (check) never = setTimeout(() => running.interrupt(), 300);
    return new Promise(() => {});
  }
  if (policy === "denies") return { behavior: "deny", message: "not today" };
  if (tool !== "AskUserQuestion") return { behavior: "allow", updatedInput: input };
  const answers = Object.fromEntries(input.questions.map((asked) => [asked.question, asked.options[0].label]));
  return { behavior: "allow", updatedInput: { ...input, answers } };
};

// messages in, so that there is a way for answers; open until the result is there
let finished;
const result = new Promise((resolve) => (finished = resolve));
async function* words() {
  yield { type: "user", message: { role: "user", content: prompt }, parent_tool_use_id: null, session_id: "" };
  await result;
}

const agent = execFileSync("sh", ["-c", "command -v claude"], { encoding: "utf8" }).trim();
const options = { pathToClaudeCodeExecutable: agent, canUseTool, settingSources: [] };
if (policy === "guarded") {
  const { supervise } = (await import("rehang")).default;
  options.spawnClaudeCodeProcess = ({ command, args, cwd, env }) =>
    supervise([command, ...args], { cwd, env, stdio: ["pipe", "pipe", "inherit"] }).child;
}
running = query({ prompt: words(), options });
const messages = [];
let last;
try {
  for await (const message of running) {
    messages.push(message);
    if (message.type === "result") {
      last = message;
      finished();
    }
  }
} catch (error) {
  console.error(String(error));
  if (!check || policy !== "never") process.exit(1);
}
clearTimeout(never);

if (check) {
  const told = messages
    .filter((message) => message.type === "user")
    .flatMap((message) => [message.message.content].flat())
    .filter((block) => block.type === "tool_result");
  const init = messages.find((message) => message.type === "system" && message.subtype === "init");
  assert.ok(init, "no init message");
  if (policy === "never") {
    assert.deepEqual(asked, ["AskUserQuestion"]);
    assert.notEqual(last?.subtype, "success", JSON.stringify(last));
  } else {
    assert.deepEqual(asked, ["AskUserQuestion", "Bash"]);
    assert.equal(last?.subtype, "success", JSON.stringify(last));
    assert.deepEqual(told.map((block) => block.is_error === true), policy === "answers" ? [false, false] : [true, true]);
    if (policy === "answers") assert.match(JSON.stringify(told[0].content), /sqlite/);
    assert.equal(last.permission_denials.length, policy === "answers" ? 0 : 2);
  }
  console.log(JSON.stringify({ policy, asked, subtype: last?.subtype, version: init.claude_code_version }));
  process.exit(0);
}
process.exit(last?.subtype === "success" && !last.is_error ? 0 : 1);
