# truth: healthy
# then: ends
# needs: node curl grep sed
# about: a pipeline reads the events of a server outside of its tree, which says its last one after a time (curl -N; grep --line-buffered)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
foreign "
import socket, time
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); open('$D/p', 'w').write(str(s.getsockname()[1])); open('$D/port', 'w').close()
c = s.accept()[0]; c.recv(9999); c.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"a\":1}\n\n'); time.sleep($S+2); c.sendall(b'data: {\"done\":1}\n\n'); c.close()"
await test -e port
tool "curl -sN http://127.0.0.1:$(<p)/ | grep --line-buffered ^data: | sed -u 's/^data: //' | tee events" &
A=$!
await test -s events
ready $A
wait $A
