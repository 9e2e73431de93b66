# truth: healthy
# then: ends 1
# needs: ruby
# about: Ruby's thread of time limits interrupts a read of a pipe whose writer is the reader itself (Ruby, Timeout.timeout)
. "${0%/*}/lib/tree.sh"
show . 'read poll select' ruby -e 'require "timeout"; r, w = IO.pipe; Timeout.timeout(Float(ENV["SECS"])) { r.read }' 2>/dev/null
