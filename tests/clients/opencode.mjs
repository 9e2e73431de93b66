// A client of `opencode serve` made of @opencode-ai/sdk: it starts the server from PATH, prompts, and answers what is
// asked, rejects it, or leaves it open and aborts. Exit code 0: all came as a real server would have it.
//
//   node opencode.mjs default|v2 answers|denies|never

import assert from "node:assert/strict";

const [flavour, policy] = process.argv.slice(2);
const v2 = flavour === "v2";
const { createOpencode } = await import(v2 ? "@opencode-ai/sdk/v2" : "@opencode-ai/sdk");
const { client, server } = await createOpencode({ port: 0, timeout: 20_000 });

// the default client takes { path, query, body }, the one of /v2 flat parameters; both wrap answers in { data }
const ok = ({ data, error, response }) => {
  assert.equal(error, undefined, `${response?.status} ${response?.url}: ${JSON.stringify(error)}`);
  return data;
};
const call = (path, body) =>
  fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).then((response) => response.json());
const session = ok(await client.session.create(v2 ? { title: "clients" } : { body: { title: "clients" } }));
const id = session.id;
const prompt = { parts: [{ type: "text", text: "go" }] };
const abort = () => client.session.abort(v2 ? { sessionID: id } : { path: { id } });

// the default client has no question routes; what it lacks goes by hand, as its users do it
const actions = {
  answers: {
    question: (ask) =>
      v2 ? client.question.reply({ requestID: ask.id, answers: [["sqlite"]] }) : call(`/question/${ask.id}/reply`, { answers: [["sqlite"]] }),
    permission: (ask) =>
      v2
        ? client.permission.reply({ requestID: ask.id, reply: "once" })
        : client.postSessionIdPermissionsPermissionId({ path: { id, permissionID: ask.id }, body: { response: "once" } }),
  },
  denies: {
    question: (ask) => (v2 ? client.question.reject({ requestID: ask.id }) : call(`/question/${ask.id}/reject`, {})),
    permission: () => assert.fail("a rejected question ends the turn"),
  },
  never: { question: abort, permission: () => assert.fail("nobody answered the question") },
};

const seen = [];
const { stream } = v2 ? await client.event.subscribe() : await client.event.subscribe();
const over = (async () => {
  for await (const event of stream) {
    seen.push(event.type);
    const kind = event.type === "question.asked" ? "question" : event.type === "permission.asked" ? "permission" : undefined;
    if (kind === "question" && v2) {
      const listed = ok(await client.question.list());
      assert.deepEqual(listed.map((ask) => ask.id), [event.properties.id]);
      assert.equal(listed[0].questions[0].question, "Which database?");
    }
    if (kind) {
      const answer = await actions[policy][kind](event.properties);
      assert.ok(answer === true || answer?.data === true, `${kind}: ${JSON.stringify(answer?.error ?? answer)}`);
    }
    if (event.type === "session.idle") return;
  }
  assert.fail("the event stream ended before the session was idle");
})();
const reply = client.session.prompt(v2 ? { sessionID: id, ...prompt } : { path: { id }, body: prompt });
await over;
await reply;

const messages = ok(await client.session.messages(v2 ? { sessionID: id } : { path: { id } }));
const parts = messages.flatMap((message) => message.parts);
const texts = parts.filter((part) => part.type === "text").map((part) => part.text);
const tools = parts.filter((part) => part.type === "tool").map((part) => [part.tool, part.state.status]);
assert.ok(texts.includes("I found two databases."), texts.join(" | "));
if (policy === "answers") {
  assert.deepEqual(tools, [["question", "completed"], ["write", "completed"]]);
  assert.ok(texts.includes("Done."), texts.join(" | "));
  assert.ok(seen.includes("question.replied") && seen.includes("permission.replied"), seen.join(" "));
} else {
  assert.deepEqual(tools, [["question", "error"]]);
  assert.ok(!texts.includes("Done."), texts.join(" | "));
  assert.equal(seen.includes("question.rejected"), policy === "denies", seen.join(" "));
}
server.close();
console.log(JSON.stringify({ flavour, policy, tools, events: seen.length }));
// an open event stream would keep this process
process.exit(0);
