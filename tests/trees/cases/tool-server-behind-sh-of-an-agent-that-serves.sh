# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run exec 3<>/dev/tcp/127.0.0.1/$(cat $D/port); printf 'POST /shutdown HTTP/1.0\r\n\r\n' >&3; cat <&3
# needs: node
# about: an agent serves its interface and waits for a client's next request; its tool server behind `sh -c` has answered it once and is idle (opencode serve; MCP, stdio transport)
. "${0%/*}/lib/tree.sh"; . "$LIB/idle_server.sh"
agent_with_an_idle_server sh -c "node server.js; exit 0"
