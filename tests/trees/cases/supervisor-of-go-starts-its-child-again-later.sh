# truth: healthy
# then: ends
# needs: go
# about: a supervisor's child has failed and is started again after a pause; nothing else runs (Go, time.After; systemd.service(5), RestartSec)
. "${0%/*}/lib/tree.sh"
cat >one.go <<'S'
package main
import ("os"; "os/exec"; "os/signal"; "strconv"; "time")
func main() { stop := make(chan os.Signal, 1); signal.Notify(stop); s, _ := strconv.Atoi(os.Getenv("SECS"))
for { if exec.Command("sh", "-c", "test -e tried && exit 0; : >tried; exit 1").Run() == nil { return }; again := time.After(time.Duration(s) * time.Second)
for waits := true; waits; { select { case x := <-stop: if x == os.Interrupt { os.Exit(2) }; case <-again: waits = false } } } }
S
GOCACHE="${TMPDIR:-/tmp}/tree-go-cache" GOFLAGS=-mod=mod go build -o one one.go
./one &
P=$!
await test -e tried
sleep 1
ready $P
wait $P
