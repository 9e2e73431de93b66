# truth: waiting
# verdict: WAITING UNKNOWN
# then: types quit\r
# needs: redis-server redis-cli
# about: redis-cli waits at its prompt for a person's command; its server, outside of the tree, is idle (redis-cli, interactive mode)
. "${0%/*}/lib/tree.sh"
export HOME=$D
redis-server --port 0 --unixsocket "$D/socket" --save '' --dir "$D" >log &
await test -S socket
exec python3 "$LIB/tree.py" pty --call read -- redis-cli -s "$D/socket"
