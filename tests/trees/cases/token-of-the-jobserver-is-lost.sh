# truth: hung
# verdict: HUNG WAITING
# cause: pipe|token|jobserver
# culprit: make
# needs: make python3
# about: a tool took a token of make's jobserver and was killed; the next tool waits for one, and make, which could write it, waits for that tool (GNU make, POSIX jobserver: tokens must be returned)
. "${0%/*}/lib/tree.sh"
cat >token.py <<'W'
import os, re, select, signal, sys
found = re.search(r'--jobserver-(?:auth|fds)=(?:fifo:(\S+)|(\d+),(\d+))', os.environ['MAKEFLAGS'])
r, w = (os.open(found[1], os.O_RDWR),) * 2 if found[1] else (int(found[2]), int(found[3]))
while True:
    select.select([r], [], [])
    try: token = os.read(r, 1); break
    except BlockingIOError: pass
if sys.argv[1] == 'takes':
    os.kill(os.getpid(), signal.SIGKILL)
os.write(w, token)
W
printf 'all: ; +-@python3 token.py takes 2>/dev/null\n\t+@exec python3 token.py wants\n' >Makefile
show python3 'select read' make -s -j2
