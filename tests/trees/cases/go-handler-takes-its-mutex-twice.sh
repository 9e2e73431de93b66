# truth: hung
# cause: answer|reply|wait|server|peer|lock|futex
# later: 30 a handler that takes its time looks the same: the wait of a goroutine cannot be seen from outside
# moves: curl looks at its transfer each second
# needs: node go curl
# about: a server's handler locks a mutex that it has already; the runtime sees no deadlock beside the listener, and a script's curl waits without a limit (Go, sync.Mutex: not reentrant; net/http)
. "${0%/*}/lib/tree.sh"
export HOME=$D
export GOCACHE=$D/gc GOPATH=$D/gp GO111MODULE=off GOFLAGS=
P0=$(free_port)
cat >main.go <<J
package main
import ("net/http"; "os"; "sync")
var m sync.Mutex
func inner() { m.Lock(); defer m.Unlock() }
func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { m.Lock(); defer m.Unlock(); os.WriteFile("asked", nil, 0o644); inner() })
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {})
	http.ListenAndServe("127.0.0.1:$P0", nil)
}
J
go build -o srv main.go || exit 97
printf './srv & until curl -s 127.0.0.1:%s/health; do sleep .2; done; curl -s 127.0.0.1:%s/; kill %%1\n' $P0 $P0 >run.sh
tool "bash run.sh" &
A=$!
await test -e asked
await waits_below $A curl poll
ready $A
wait $A
