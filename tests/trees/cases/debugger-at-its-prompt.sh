# truth: waiting
# verdict: WAITING UNKNOWN
# then: types q\n
# needs: gdb
# about: gdb waits at its prompt for a person's command (gdb, prompt)
. "${0%/*}/lib/tree.sh"
exec python3 "$LIB/tree.py" pty --call 'poll select' -- gdb -q -nx
