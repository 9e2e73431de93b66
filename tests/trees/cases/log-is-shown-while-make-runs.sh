# truth: healthy
# then: ends
# needs: node make
# about: an agent's tool shows a log with tail -f in the background while its build runs in make, which sleeps, and ends tail then (make(1))
. "${0%/*}/lib/tree.sh"
export HOME=$D SECS=$((${SECS%.*} + 25))
echo line >log
printf 'all: ; @sleep "$$SECS"\n' >Makefile
cat >tool.sh <<'S'
tail -f log & T=$!
make -s
kill $T; exit 0
S
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A tail read poll select nanosleep
await waits_below $A sleep nanosleep
ready $A
wait $A
