# truth: hung
# verdict: HUNG WAITING
# cause: redis
# certain: no
# moves: the server's clock
# needs: redis-server redis-cli
# about: a worker pops without a limit from a list to which nobody pushes (redis BLPOP, timeout 0)
. "${0%/*}/lib/tree.sh"
redis-server --port 0 --unixsocket "$D/socket" --save '' --dir "$D" >log &
await test -S socket
show . recv redis-cli -s socket blpop jobs 0
