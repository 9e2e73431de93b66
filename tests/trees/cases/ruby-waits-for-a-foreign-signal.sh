# truth: healthy
# then: ends
# needs: ruby
# about: a Ruby program waits for a queue, into which its handler of USR1 pushes by a thread; a process outside of its tree sends the signal after a time (Ruby, Signal.trap: a Queue may be used in a handler)
. "${0%/*}/lib/tree.sh"
ruby -e 'q = Queue.new; trap("USR1") { q << 1 }; Thread.new { sleep }; File.write("started", ""); q.pop' &
P=$!
await test -e started
setsid -f bash -c 'sleep "$SECS"; kill -USR1 "$0"' $P </dev/null >/dev/null 2>&1
await in_call $P futex poll
ready $P
wait $P
