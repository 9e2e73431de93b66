# truth: healthy
# then: ends
# needs: go node
# about: an agent's tool, a Go program, waits at a channel for a signal, which a process outside of its tree sends after a time (Go, os/signal.Notify)
. "${0%/*}/lib/tree.sh"
cat >one.go <<'S'
package main
import ("os"; "os/signal"; "strconv"; "syscall")
func main() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGUSR1); os.WriteFile("w", []byte(strconv.Itoa(os.Getpid())), 0600); os.Rename("w", "waiter"); <-c }
S
GOCACHE="${TMPDIR:-/tmp}/tree-go-cache" GOFLAGS=-mod=mod go build -o one one.go
(setsid bash -c 'until test -e waiter; do sleep .05; done; sleep "$SECS"; kill -USR1 $(<waiter)' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["./one"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e waiter
sleep 1
ready $A
wait $A
