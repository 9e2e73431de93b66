# truth: healthy
# then: ends
# needs: ruby php lua tclsh perl
# about: Ruby waits for PHP, that for Lua, that for Tcl, that for Perl, and Perl sleeps in select (Ruby, IO.popen; PHP, proc_open; Lua, io.popen; Tcl, exec; perlfunc, select with four arguments)
. "${0%/*}/lib/tree.sh"
echo 'select(undef, undef, undef, $ENV{SECS}); print "done\n";' >a.pl
echo 'puts [exec perl a.pl]' >a.tcl
echo 'local f = io.popen("tclsh a.tcl"); print(f:read("*a")); f:close()' >a.lua
echo '<?php $p = proc_open(["lua", "a.lua"], [1 => ["pipe", "w"]], $o); echo stream_get_contents($o[1]); exit(proc_close($p));' >a.php
echo 'print IO.popen(["php", "a.php"]).read' >a.rb
show perl 'select' ruby a.rb
