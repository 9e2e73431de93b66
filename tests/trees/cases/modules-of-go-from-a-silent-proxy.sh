# truth: hung
# verdict: HUNG WAITING
# cause: python3|127\.0\.0\.1|server|answer
# certain: no
# moves: the runtime of Go looks after its threads at times
# needs: go python3
# about: go mod download waits for a module proxy that says nothing; the go command has no time limit for it (Go Modules Reference, GOPROXY)
. "${0%/*}/lib/tree.sh"
server silent
printf 'module a\ngo 1.19\nrequire example.com/b v1.0.0\n' >go.mod
export HOME=$D GOPATH=$D/go GOCACHE=$D/cache GOFLAGS=-mod=mod GONOSUMDB='*' GOPROXY="http://127.0.0.1:$PORT"
go mod download >out 2>&1 &
P=$!
PORTHEX=$(printf %04X "$PORT")
await sh -c "grep -i ' 0100007F:[0-9A-F]* 0100007F:$PORTHEX 01 ' /proc/net/tcp"
await in_call $P futex epoll
ready $P
wait $P
