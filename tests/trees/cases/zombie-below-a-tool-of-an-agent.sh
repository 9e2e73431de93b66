# truth: healthy
# then: ends
# needs: node python3
# about: an agent's tool has not reaped a helper that has ended, and waits for a datagram of a process outside of its tree, which comes after a time (unix(7); wait(2), zombies)
. "${0%/*}/lib/tree.sh"
cat >tool.py <<'S'
import os, socket, subprocess
p = subprocess.Popen(['true']); os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('s'); open('waiter', 'w'); s.recv(9)
S
(setsid bash -c 'until test -e waiter; do sleep .05; done; sleep "$SECS"; exec python3 -c "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(bytes(1), \"s\")"' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["python3","tool.py"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e waiter
sleep 1
ready $A
wait $A
