# truth: hung
# verdict: HUNG WAITING
# cause: curl|answer|server\.py|approver|silent
# args: --silent 3s
# certain: no
# needs: node
# about: a hook asks a local server by long polling and waits for a person's tap, who may come or not
. "${0%/*}/lib/tree.sh"
server silent
export PORT
cat >hook.sh <<'S'
#!/bin/bash
. "$LIB/tree.sh"
(named curl python3 -c "import os, socket; s = socket.create_connection(('127.0.0.1', int(os.environ['PORT']))); s.sendall(b'POST /approve HTTP/1.1\r\n\r\n'); s.recv(100)")
exit $?
S
chmod +x hook.sh
DO='{"tools":[{"cmd":["./hook.sh"],"stdio":["pipe","pipe","pipe"]}]}' agent claude -p go </dev/null &
A=$!
await waits_below $A python3 recv
ready $A
wait $A
