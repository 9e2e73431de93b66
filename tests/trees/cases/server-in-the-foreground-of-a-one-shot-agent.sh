# truth: hung
# verdict: HUNG WAITING
# cause: serve|server|listens|requests|never
# culprit: http|python
# moves: the server looks for its end twice a second
# needs: node
# about: a one-shot agent's tool starts a development server in the foreground, without a limit: it never ends by itself (http.server; claude -p)
. "${0%/*}/lib/tree.sh"
export HOME=$D
DO='{"tools":[["python3","-m","http.server","--bind","127.0.0.1","0"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A python3 poll select
ready $A
wait $A
