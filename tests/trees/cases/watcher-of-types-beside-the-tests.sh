# truth: healthy
# then: ends
# needs: node inotifywait
# about: an agent's tool starts a compiler in watch mode in the background, runs the tests, which take their time, and ends the watcher (tsc --watch; bash(1), kill %1)
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 15))
mkdir src
printf 'inotifywait -qmr src >changes & W=$!\nnode test.js\nkill $W; exit 0\n' >tool.sh
echo 'setTimeout(() => {}, Number(process.env.SECS) * 1000); require("fs").writeFileSync("begun", "")' >test.js
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e begun
await waits_below $A inotifywait read poll select
ready $A
wait $A
