# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run exec 3<>/dev/tcp/127.0.0.1/$(cat $D/port); printf 'POST /shutdown HTTP/1.0\r\n\r\n' >&3; cat <&3
# needs: node npm
# about: an agent serves its interface and waits for a client's next request; its tool server behind `npm exec` has answered it once and is idle (opencode serve; MCP, stdio transport)
. "${0%/*}/lib/tree.sh"; . "$LIB/idle_server.sh"
export HOME=$D npm_config_update_notifier=false
agent_with_an_idle_server npm exec --no -c "node server.js"
