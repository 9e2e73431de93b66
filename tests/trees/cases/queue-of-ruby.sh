# truth: healthy
# then: ends
# needs: ruby
# about: the first thread pops from a queue, into which another one pushes after a time (Ruby, Thread::Queue)
. "${0%/*}/lib/tree.sh"
ruby -e 'q = Queue.new; Thread.new { File.write("works", ""); sleep ENV["SECS"].to_f; q << 1 }; q.pop' &
P=$!
await test -e works
ready $P
wait $P
