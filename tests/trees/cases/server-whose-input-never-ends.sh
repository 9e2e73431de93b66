# truth: waiting
# verdict: WAITING UNKNOWN
# then: run python3 -c 'import socket; socket.create_connection(("127.0.0.1", int(open("port").read()))).recv(1)'
# about: a server takes requests in a thread and ends at the end of its stdin, which a script keeps open on purpose (the idiom of bash: 3<> of a pipe)
. "${0%/*}/lib/tree.sh"
cat >server.py <<'W'
import os, socket, sys, threading
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(5)
def serve():
    c, _ = s.accept(); os._exit(0)
threading.Thread(target=serve, daemon=True).start()
open('port.new', 'w').write(str(s.getsockname()[1])); os.rename('port.new', 'port')
sys.stdin.read()
W
show python3 read bash -c 'exec 3<> <(:); python3 server.py <&3; exit 0'
