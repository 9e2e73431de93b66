# truth: hung
# cause: http\.server|listen|server|wait
# moves: the server looks twice a second whether to stop
# needs: node
# about: a tool's shell starts a server in the background and waits for all its jobs; nobody ends the server (bash(1), wait)
. "${0%/*}/lib/tree.sh"
DO='{"tools":[["bash","-c","python3 -u -m http.server 0 --bind 127.0.0.1 >log 2>&1 & echo tests passed; wait"]]}' agent claude -p go </dev/null &
A=$!
await grep -q Serving log
await waits_below $A bash wait
ready $A
wait $A
