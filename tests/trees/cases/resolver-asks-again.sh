# truth: healthy
# then: ends 2
# needs: root unshare ip getent
# brief: thirty seconds for each of five attempts are the most that the resolver allows
# about: getent waits for a name server on loopback that never answers; the resolver has a limit for each attempt and a number of attempts (resolv.conf(5), timeout, attempts)
. "${0%/*}/lib/tree.sh"
T=${SECS%.*}; [ "$T" -gt 30 ] && T=30
printf 'nameserver 127.0.0.1\noptions timeout:%s attempts:5\n' "$T" >resolv.conf
cat >name.py <<'S'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 53)); open("bound", "w").close()
while True: s.recv(999); open("asked", "w").close()
S
unshare -mn bash -c 'ip link set lo up; mount --bind resolv.conf /etc/resolv.conf; python3 name.py & N=$!; while ! [ -e bound ]; do :; done; getent hosts model.example.org; E=$?; kill $N; exit $E' &
P=$!
await test -e asked
await waits_below $P getent poll
ready $P
wait $P
