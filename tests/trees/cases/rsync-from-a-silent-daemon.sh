# truth: hung
# verdict: HUNG WAITING
# cause: python3|127\.0\.0\.1|server|answer
# moves: rsync looks at its limit each minute
# certain: no
# needs: rsync python3
# about: rsync waits for a daemon that says nothing after its greeting (rsync(1), --timeout: the default is 0, no limit)
. "${0%/*}/lib/tree.sh"
cat >silent.py <<'W'
import os, socket
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(9)
open('port.new', 'w').write(str(l.getsockname()[1])); os.rename('port.new', 'port')
c, _ = l.accept(); c.sendall(b'@RSYNCD: 31.0\n')
while c.recv(999): pass
W
python3 silent.py &
await test -s port
rsync "rsync://127.0.0.1:$(<port)/module/" copy 2>out &
P=$!
await in_call $P select poll
ready $P
wait $P
