# truth: hung
# cause: silent|answer|connection|stream
# args: --silent 3s
# certain: no
# needs: node
# later: 2 a slow model looks the same for 30 times the limit of silence
# about: an agent in print mode sent its request and never gets a byte
. "${0%/*}/lib/tree.sh"
server silent
DO='{"model":'$PORT'}' agent kimi -p pong </dev/null &
A=$!
connected() { grep -qi " 0100007F:$(printf %04X "$PORT") 01 " "/proc/$A/net/tcp"; }
await connected
ready $A
wait $A
