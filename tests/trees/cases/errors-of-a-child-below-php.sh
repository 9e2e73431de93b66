# truth: hung
# cause: pipe|full|stderr|error
# culprit: php
# needs: php perl
# about: a PHP script reads its child's output to the end, and the child waits to write errors that nobody reads (PHP, proc_open)
. "${0%/*}/lib/tree.sh"
echo '<?php $p = proc_open(["perl", "-e", "print STDERR qq(x) x 300000; print qq(done)"], [1 => ["pipe", "w"], 2 => ["pipe", "w"]], $o); echo stream_get_contents($o[1]);' >a.php
php a.php &
P=$!
await waits_below $P perl write
await in_call $P read poll
ready $P
wait $P
