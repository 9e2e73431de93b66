# truth: hung
# verdict: HUNG WAITING
# cause: redis
# certain: no
# moves: the server's clock
# needs: redis-server redis-cli
# about: a client waits for a replica to have its write; there is none, and there is no limit (redis WAIT, timeout 0)
. "${0%/*}/lib/tree.sh"
redis-server --port 0 --unixsocket "$D/socket" --save '' --dir "$D" >log &
await test -S socket
show . recv redis-cli -s socket wait 1 0
