# truth: healthy
# unseen: a watchdog outside of the tree ends by a file's number what it does not know otherwise
# then: ends 143
# about: a service reads a pipe of its own; a watchdog outside of its tree (monit, a cron job) ends it by its pid file after a time (kill(1))
. "${0%/*}/lib/tree.sh"
setsid -f bash -c 'until [ -s pid ]; do sleep .1; done; sleep "$SECS"; kill "$(<pid)"' </dev/null >/dev/null 2>&1
python3 -c 'import os; r, w = os.pipe(); open("p", "w").write(str(os.getpid())); os.rename("p", "pid"); os.read(r, 1)' &
P=$!
await test -s pid
await in_call $P read
ready $P
wait $P
