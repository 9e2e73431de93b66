# truth: healthy
# then: ends
# needs: mosquitto mosquitto_sub mosquitto_pub
# about: MQTT 3.1.1: the server closes a client that is silent for one and a half keep alive intervals, and then publishes its will; the subscriber waits for that one message.
. "${0%/*}/lib/tree.sh"
. "$LIB/broker.sh"
start_broker
K=${SECS%.*}; [ $K -lt 5 ] && K=5
python3 - $PORT $K <<'W' &
import socket, sys, time, os
k = int(sys.argv[2])
def s(t): return len(t).to_bytes(2, 'big') + t
body = s(b'MQTT') + b'\x04' + b'\x06' + k.to_bytes(2, 'big') + s(b'dying') + s(b'will') + s(b'gone')
c = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); c.sendall(b'\x10' + bytes([len(body)]) + body); c.recv(99)
open('in', 'w').close()
import signal; os.kill(os.getpid(), signal.SIGSTOP)
W
await test -e in
mosquitto_sub -p $PORT -t will -C 1 -k 60000 &
P=$!
await in_call $P select poll
sleep .5
ready $P
wait $P
