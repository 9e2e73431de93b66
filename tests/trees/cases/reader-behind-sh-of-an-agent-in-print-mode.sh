# truth: hung
# cause: stdin|pipe|input
# culprit: cat|sh
# needs: node
# about: an agent in print mode runs a command behind `sh -c` that reads its stdin, a pipe which the agent keeps without a word; it waits for the command's end (claude -p; cat(1): without a file, the standard input)
. "${0%/*}/lib/tree.sh"
cat >host.mjs <<'J'
import { spawn } from 'child_process';
const tool = spawn("sh", ["-c", "cat; exit 0"], { stdio: ['pipe', 'pipe', 'ignore'] });
tool.stdout.on('data', () => {});
tool.on('close', code => process.exit(code));
J
named claude node host.mjs -p go </dev/null &
A=$!
await waits_below $A cat read
ready $A
wait $A
