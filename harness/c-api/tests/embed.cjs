// The npm package against real processes: one that hangs, one under guard, and none. Run by `languages.rs`.
"use strict";
const assert = require("node:assert/strict");
const { RehangError, supervise, why } = require(process.argv[2]);

async function main() {
  const hung = Number(process.argv[3]);
  let said;
  do said = await why(hung, { windowMs: 50 });
  while (said.state !== "cannot-go-on");
  assert.deepEqual([said.v, said.verdict, said.signature, said.sure, said.closed_in], [1, "hung", "stdin-open", "certain", true]);
  assert.deepEqual(said.owes, { pid: hung, name: `bash (${hung})` });
  assert.ok(said.for_ms >= 50 && said.sentence && said.ends && said.out_of_sight === undefined, JSON.stringify(said));
  for (const [pid, kind] of [[2 ** 31 - 1, "no-process"], [0, "usage"], ["1", "usage"], [1.5, "usage"]]) {
    await assert.rejects(why(pid), (error) => error instanceof RehangError && error.kind === kind && error.message !== "");
  }
  await assert.rejects(why(hung, { agents: [""] }), { kind: "usage" });

  const { events, code } = supervise(["sh", "-c", "echo up; exec sleep infinity"], { stdio: "ignore", pace: 400 });
  const kinds = [];
  let last;
  for await (last of events) kinds.push(last.event);
  assert.deepEqual([kinds[0], last.event, last.by], ["start", "end", "guard-process"]);
  assert.ok(kinds.includes("look") && kinds.includes("plan") && kinds.includes("act"), kinds.join());
  assert.equal(await code, last.code);
  const fine = supervise(["sh", "-c", "exit 7"], { stdio: "ignore" });
  assert.equal(await fine.code, 7);
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
