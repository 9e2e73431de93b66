# truth: hung
# verdict: HUNG WAITING
# cause: futex|thread|main|itself
# moves: the runtime of Go looks after its threads at times
# needs: go
# about: a goroutine waits at a channel to which nobody sends; the runtime does not report a deadlock beside signal.Notify (Go, os/signal)
. "${0%/*}/lib/tree.sh"
cat >main.go <<'W'
package main
import ("os"; "os/signal")
func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	os.WriteFile("started", nil, 0600)
	<-make(chan int)
}
W
HOME=$D GOCACHE=$D/cache GO111MODULE=off go build -o main main.go
./main &
P=$!
await test -e started
await in_call $P futex epoll
ready $P
wait $P
