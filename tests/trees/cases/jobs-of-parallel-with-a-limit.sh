# truth: healthy
# then: ends 1
# needs: parallel
# about: parallel(1): --timeout ends a job that takes longer; its job reads an unnamed pipe that only it holds, and the exit code is the number of jobs that failed.
. "${0%/*}/lib/tree.sh"
cat >j.py <<'W'
import os
r, w = os.pipe(); os.read(r, 1)
W
show python3 read parallel --will-cite --timeout "${SECS%.*}" ::: 'python3 j.py' </dev/null
