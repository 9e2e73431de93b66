# truth: hung
# cause: silent|answer|connection|stream
# args: --silent 3s
# certain: no
# needs: node
# later: 2 a slow model looks the same for 30 times the limit of silence
# about: an agent whose parent has gone waits for a response on an established connection that stays silent, with no limit of its own
. "${0%/*}/lib/tree.sh"
server silent
(DO='{"model":'$PORT'}' agent cursor-agent acp </dev/null >/dev/null 2>&1 & echo $! >pid)
A=$(<pid)
connected() { grep -qi " 0100007F:$(printf %04X "$PORT") 01 " "/proc/$A/net/tcp"; }
await connected
ready "$A"
wait
