# truth: hung
# cause: pipe
# culprit: ruby
# needs: ruby
# about: a script reads a child's output to its end, and the child waits to write errors that nobody reads (Ruby, Open3.popen3: "you should be careful to avoid deadlocks")
. "${0%/*}/lib/tree.sh"
cat >a.rb <<'W'
require 'open3'
Open3.popen3('bash', '-c', 'head -c 300000 /dev/zero | tr "\0" e >&2; echo done') { |i, o, e, t| i.close; puts o.read; puts e.read }
W
show tr write ruby a.rb
