# truth: healthy
# then: ends
# needs: systemd-notify
# about: a manager reads its notification socket until the service says READY=1, which it does after a time (sd_notify(3))
. "${0%/*}/lib/tree.sh"
cat >manager.py <<'S'
import os, socket, subprocess
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('notify')
p = subprocess.Popen(['sh', '-c', 'sleep "$SECS"; systemd-notify --ready'], env=dict(os.environ, NOTIFY_SOCKET=os.environ['D'] + '/notify'))
while b'READY=1' not in s.recv(999): pass
p.wait()
S
show . recv python3 manager.py
