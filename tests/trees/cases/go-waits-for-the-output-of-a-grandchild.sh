# truth: hung
# cause: pipe|output|holds
# culprit: http|python|server
# moves: the server looks twice a second whether to stop
# needs: go
# about: a Go program waits for its command, which has ended; a server that the command started has the pipe of its output (Go, os/exec.Cmd.Wait: copies until the end; issue 23019)
. "${0%/*}/lib/tree.sh"
cat >one.go <<'S'
package main
import ("bytes"; "os/exec")
func main() { var b bytes.Buffer; c := exec.Command("sh", "-c", "python3 -u -m http.server 0 --bind 127.0.0.1 2>log & echo started"); c.Stdout = &b; c.Run() }
S
GOCACHE="${TMPDIR:-/tmp}/tree-go-cache" GOFLAGS=-mod=mod go build -o one one.go
./one &
P=$!
await pgrep -P 1 -f "http.server 0 --bind 127.0.0.1"
sleep 1
ready $P
wait $P
