# truth: hung
# cause: standard input|stdin|gdb
# moves: tail looks again each second
# needs: gdb
# later: 15 a person at the debugger may let it go on
# about: a script's gdb has stopped at a breakpoint and reads its commands from a stdin that stays open and silent
. "${0%/*}/lib/tree.sh"
mkfifo in
tail -f /dev/null >in &
show gdb 'poll select read' sh -c 'gdb -q -nx -ex "set startup-with-shell off" -ex starti --args true <in >gdb.out 2>&1; true'
