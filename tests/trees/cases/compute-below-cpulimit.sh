# truth: healthy
# then: ends
# needs: cpulimit
# about: a computation is stopped and continued again and again, so that it has a hundredth of a processor (cpulimit(1))
. "${0%/*}/lib/tree.sh"
cpulimit -q -f -l 1 -- python3 -S -c 'import os, time
open("begun", "w"); end = time.time() + float(os.environ["SECS"])
while time.time() < end: pass' &
P=$!
await test -e begun
ready $P
wait $P
