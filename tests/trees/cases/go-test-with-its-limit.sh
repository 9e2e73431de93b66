# truth: healthy
# then: ends 1
# needs: go
# about: a test waits at a channel to which nobody sends; the test binary ends itself after its limit, whose default is 10 minutes (go help testflag, -timeout: panic)
. "${0%/*}/lib/tree.sh"
export HOME=$D GOCACHE=$D/cache GOFLAGS=-mod=mod GOPROXY=off
printf 'module a\ngo 1.19\n' >go.mod
cat >a_test.go <<'S'
package a
import ("os"; "testing")
func TestStuck(t *testing.T) { os.WriteFile(os.Getenv("D") + "/begun", nil, 0600); <-make(chan int) }
S
go test -timeout "${SECS%.*}s" >out 2>&1 &
P=$!
await test -e begun
ready $P
wait $P
