# truth: hung
# verdict: HUNG WAITING WORKING
# cause: again|poll|loop|every
# moves: it polls
# certain: no
# about: a shell looks every 3 s for a file that nobody will write (bash(1), until)
. "${0%/*}/lib/tree.sh"
bash -c 'until [ -f worker.done ]; do sleep 3; done' </dev/null &
P=$!
await below $P sleep
ready $P
wait $P
