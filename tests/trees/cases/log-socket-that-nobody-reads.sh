# truth: hung
# verdict: HUNG WAITING
# cause: socket|log
# culprit: python3
# needs: logger python3
# about: a script writes to a log's datagram socket whose reader never reads; the queue is full, and the next send waits (unix(7): a reliable datagram socket; logger(1), -u)
. "${0%/*}/lib/tree.sh"
cat >syslog.py <<'W'
import signal, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('log.socket')
signal.pause()
W
python3 syslog.py &
await test -S log.socket
show logger 'sendto' bash -c 'while logger -d -u log.socket x; do :; done'
