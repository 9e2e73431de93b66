# truth: healthy
# then: ends 3
# needs: go
# about: a Go program waits for a command that reads a FIFO of nobody; the context's limit kills it (Go, os/exec.CommandContext, context.WithTimeout)
. "${0%/*}/lib/tree.sh"
cat >main.go <<'W'
package main
import ("context"; "os"; "os/exec"; "strconv"; "time")
func main() {
	secs, _ := strconv.ParseFloat(os.Getenv("SECS"), 64)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(secs*float64(time.Second)))
	defer cancel()
	_, err := exec.CommandContext(ctx, "cat", "in").Output()
	if err != nil { os.Exit(3) }
}
W
mkfifo in
HOME=$D GOCACHE=$D/cache GO111MODULE=off go build -o main main.go
show cat open ./main
