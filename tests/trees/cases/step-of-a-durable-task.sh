# truth: healthy
# then: ends
# about: a CI agent's wrapper touches its log every three seconds while a script runs, until the script's result is in a file (Jenkins, durable-task: the wrapper of a shell step)
. "${0%/*}/lib/tree.sh"
echo 'sleep "$SECS"; echo built' >script.sh
cat >wrapper.sh <<'S'
{ while [ -d "$D" -a ! -f result.txt ]; do touch log.txt; sleep 3; done } & jsc=x
bash -e script.sh >log.txt 2>&1; echo $? >result.tmp; mv result.tmp result.txt; wait
S
bash wrapper.sh &
P=$!
await sh -c "[ \$(pgrep -s $(ps -o sid= -p $P) -x sleep | wc -l) = 2 ]"
ready $P
wait $P
