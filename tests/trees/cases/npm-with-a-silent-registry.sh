# truth: healthy
# then: ends 1
# needs: npm node python3
# about: npm install waits for a registry that says nothing; it has a time limit (npm config, fetch-timeout, default 5 minutes)
. "${0%/*}/lib/tree.sh"
server silent
echo '{"name":"a","version":"1.0.0"}' >package.json
npm install --registry "http://127.0.0.1:$PORT/" --cache "$D/cache" --fetch-timeout "${SECS%.*}000" --fetch-retries 0 --no-audit --no-fund --no-update-notifier left-pad >out 2>&1 &
P=$!
PORTHEX=$(printf %04X "$PORT")
await sh -c "grep -i ' 0100007F:[0-9A-F]* 0100007F:$PORTHEX 01 ' /proc/net/tcp"
await in_call $P epoll
ready $P
wait $P
E=$?
kill $SERVER
exit $E
