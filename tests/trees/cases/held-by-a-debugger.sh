# truth: hung
# verdict: HUNG WAITING
# cause: gdb|debugger|trac
# certain: no
# needs: gdb
# about: a debugger that is attached and alive holds a process (ptrace(2), state t)
. "${0%/*}/lib/tree.sh"
sleep 100000 &
P=$!
mkfifo keys
gdb -q -nx -p $P <keys >gdb.out 2>&1 &
exec 8>keys
await state $P t
ready $P
wait $P
