# truth: healthy
# then: ends
# about: an interpreter reads its statements from a here-document, and one of them takes its time (bash(1), Here Documents)
. "${0%/*}/lib/tree.sh"
cat >run <<'S'
python3 -i -q <<'H' 2>/dev/null
import os, time
open("works", "w").close()
time.sleep(float(os.environ["SECS"]))
print(1)
H
exit 0
S
bash run &
P=$!
await test -e works
ready $P
wait $P
