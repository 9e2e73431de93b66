# truth: hung
# cause: answer|silent|connection|proxy|127\.0\.0\.1
# certain: no
# later: 30 a slow proxy looks the same
# about: an agent asks a proxy on loopback for a tunnel to its model and gets no answer (RFC 9110, 9.3.6 CONNECT; http.client has no default limit)
. "${0%/*}/lib/tree.sh"
server silent
cat >agent.py <<'S'
import urllib.request
print(urllib.request.urlopen("https://api.model.example/v1/messages").read())
S
export HTTPS_PROXY=http://127.0.0.1:$PORT https_proxy=http://127.0.0.1:$PORT
unset NO_PROXY no_proxy
named aider python3 agent.py --message go </dev/null &
A=$!
await in_call $A recv read
ready $A
wait $A
