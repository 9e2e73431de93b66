// An editor without a screen: npm's acpx, which asks `opencode acp` one prompt in each of three releases, and allows or
// denies what it is asked for. Exit code 0: each run ended, with what the model was told of the command.
//
//   node acpx.mjs approve|deny

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const [policy] = process.argv.slice(2);
const acpx = fileURLToPath(new URL("node_modules/.bin/acpx", import.meta.url));
const said = [];
for (const release of ["1.0.185", "1.2.15", "1.18.33"]) {
  const agent = `opencode acp --as ${release}`;
  const run = spawnSync(process.execPath, [acpx, `--${policy}-all`, "--timeout", "20", "--agent", agent, "exec", "go"], {
    encoding: "utf8",
  });
  assert.ok(run.stdout.includes("[done] end_turn"), `${release}: ${run.stdout}${run.stderr}`);
  if (policy === "approve") {
    assert.equal(run.status, 0, release);
    assert.ok(run.stdout.includes("Told: built"), `${release}: ${run.stdout}`);
  } else {
    assert.equal(run.status, 5, `${release}: acpx says that all was denied`);
    assert.ok(run.stdout.includes("The user rejected permission"), `${release}: ${run.stdout}`);
  }
  said.push([release, run.status]);
}
console.log(JSON.stringify({ policy, said }));
