# truth: waiting
# verdict: WAITING UNKNOWN
# then: run python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ["D"] + "/s"); s.close()'; sleep 1; kill $PID
# needs: systemd-socket-activate
# about: a service is started at the first client's connection, which somebody may make at any time (systemd-socket-activate(1))
. "${0%/*}/lib/tree.sh"
systemd-socket-activate -l "$D/s" sleep infinity 2>log &
P=$!
await test -S s
await in_call $P epoll
ready $P
wait $P
