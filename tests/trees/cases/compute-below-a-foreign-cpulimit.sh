# truth: healthy
# then: ends
# needs: cpulimit
# about: a computation is stopped and continued again and again by a program outside of its tree, so that it has a hundredth of a processor (cpulimit(1), -p)
. "${0%/*}/lib/tree.sh"
python3 -S -c 'import os, time
open("begun", "w"); end = time.time() + float(os.environ["SECS"])
while time.time() < end: pass' &
P=$!
await test -e begun
setsid cpulimit -q -l 1 -z -p $P </dev/null >/dev/null 2>&1 &
disown
await state $P T
ready $P
wait $P
