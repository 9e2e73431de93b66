# truth: hung
# verdict: HUNG WAITING
# cause: answer|silent|connection|127\.0\.0\.1
# certain: no
# needs: openssl
# about: a TLS client sent its ClientHello to a server that never says a word; s_client has no time limit for the handshake (openssl-s_client(1))
. "${0%/*}/lib/tree.sh"
server silent
openssl s_client -brief -connect "127.0.0.1:$PORT" </dev/null &
P=$!
await in_call $P read recv select poll
ready $P
wait $P
