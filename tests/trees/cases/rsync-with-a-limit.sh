# truth: healthy
# then: ends 30
# needs: rsync python3
# about: rsync waits for a daemon that says nothing, for a time (rsync(1), --timeout: the exit code is 30; --contimeout is not given)
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
rsync --timeout="${SECS%.*}" "rsync://127.0.0.1:$(<port)/module/" copy 2>out &
P=$!
await in_call $P select poll
ready $P
wait $P
exit $?
