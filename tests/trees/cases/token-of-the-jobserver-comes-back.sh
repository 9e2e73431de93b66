# truth: healthy
# then: ends
# needs: make python3
# about: a tool takes a token of make's jobserver and gives it back later; another one waits for it (GNU make, POSIX jobserver)
. "${0%/*}/lib/tree.sh"
cat >token.py <<'W'
import os, re, select, sys, time
found = re.search(r'--jobserver-(?:auth|fds)=(?:fifo:(\S+)|(\d+),(\d+))', os.environ['MAKEFLAGS'])
r, w = (os.open(found[1], os.O_RDWR),) * 2 if found[1] else (int(found[2]), int(found[3]))
def take():
    while True:
        select.select([r], [], [])
        try: return os.read(r, 1)
        except BlockingIOError: pass
if sys.argv[1] == 'has':
    token = take()
    if os.fork() == 0:
        os.setsid(); time.sleep(float(os.environ['SECS'])); os.write(w, token)
else:
    os.write(w, take())
W
printf 'all: ; +@python3 token.py has\n\t+@exec python3 token.py wants\n' >Makefile
show python3 'select read' make -s -j2
