# truth: healthy
# then: ends
# needs: perf
# if: perf stat -e task-clock true
# about: perf counts a command and waits for its end (perf-stat(1))
. "${0%/*}/lib/tree.sh"
show sleep nanosleep perf stat -e task-clock -o counts sleep "$SECS"
