# truth: waiting
# then: run exec 3<>/dev/tcp/127.0.0.1/$(cat $D/port); echo 'GET /?code=1' >&3; cat <&3
# needs: git
# about: git's credential helper has opened a log-in page in a browser and listens on loopback for the redirect (RFC 8252, 7.3; gitcredentials(7))
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1
cat >helper.py <<'S'
import os, socket, sys
sys.stdin.read()
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(4)
open("port.new", "w").write(str(listener.getsockname()[1])); os.rename("port.new", "port")
peer = listener.accept()[0]; peer.recv(999); peer.close()
print("username=a\npassword=b")
S
git config --global credential.helper "!f() { test \"\$1\" != get || python3 $D/helper.py; }; f"
printf 'protocol=https\nhost=example.org\n\n' | git credential fill >filled &
P=$!
await test -s port
await waits_below $P python3 accept
ready $P
wait $P
