# truth: hung
# verdict: HUNG WAITING
# cause: zombie|ended|exited|reap|collect|tail
# moves: tail looks again each second
# needs: python3
# about: tail waits for a process that has ended and is never reaped: for kill(2) it still exists (tail(1), --pid; wait(2), zombies)
. "${0%/*}/lib/tree.sh"
cat >parent.py <<'W'
import os, signal
pid = os.fork()
if pid == 0: os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT); open('zombie.new', 'w').write(str(pid)); os.rename('zombie.new', 'zombie')
signal.pause()
W
python3 parent.py &
await test -s zombie
touch log
tail -f --pid="$(<zombie)" log &
P=$!
await in_call $P nanosleep select poll
ready $P
wait $P
