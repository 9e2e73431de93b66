# truth: healthy
# then: ends
# needs: ssh sshd root
# about: sshd_config(5): LoginGraceTime closes a connection that has not logged in; the client has read the banner and waits for more without a limit.
. "${0%/*}/lib/tree.sh"
ssh-keygen -q -t ed25519 -N '' -f hostkey
mkdir -p /run/sshd
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nPidFile %s\nStrictModes no\nUsePAM no\nLoginGraceTime %s\n' $PORT $D/hostkey $D/sshd.pid "${SECS%.*}" >c
/usr/sbin/sshd -f $D/c -D -E sshd.log &
S=$!
await grep -q listening sshd.log
python3 -c "
import socket
s = socket.create_connection(('127.0.0.1', $PORT)); s.recv(999); open('got', 'w').close()
while s.recv(999): pass" &
P=$!
await test -e got
await in_call $P recv
ready $P
wait $P; r=$?
kill $S; wait $S; exit $r
