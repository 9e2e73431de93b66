# truth: hung
# verdict: HUNG WAITING
# cause: futex|thread|main|itself|test
# needs: go
# moves: the runtime of Go looks after its threads at times, and go test may wait with a timer for its child
# about: a test waits at a channel to which nobody sends, and its limit is off (go help testflag, -timeout 0); the signal handler of go test hides the deadlock from the runtime, or it ends the test
. "${0%/*}/lib/tree.sh"
export HOME=$D GOCACHE=$D/cache GOFLAGS=-mod=mod GOPROXY=off
printf 'module a\ngo 1.19\n' >go.mod
cat >a_test.go <<'S'
package a
import ("os"; "os/signal"; "testing")
func TestStuck(t *testing.T) { c := make(chan os.Signal, 1); signal.Notify(c, os.Interrupt); os.WriteFile(os.Getenv("D") + "/begun", nil, 0600); <-make(chan int) }
S
go test -timeout 0 >out 2>&1 &
P=$!
await test -e begun
ready $P
wait $P
