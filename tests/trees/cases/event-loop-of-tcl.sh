# truth: healthy
# then: ends
# needs: tclsh
# about: a script of Tcl serves a port and waits in vwait until a timer of its own sets the variable (Tcl, vwait and after)
. "${0%/*}/lib/tree.sh"
echo 'proc accept args {}; socket -server accept -myaddr 127.0.0.1 0; after [expr {int(1000 * $env(SECS))}] {set done 1}; close [open serves w]; vwait done' >loop.tcl
tclsh loop.tcl &
P=$!
await test -e serves
await in_call $P futex select poll epoll
ready $P
wait $P
