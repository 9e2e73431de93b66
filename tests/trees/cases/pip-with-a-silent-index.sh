# truth: healthy
# then: ends 1
# needs: python3
# if: python3 -m pip --version
# about: pip waits for an index that says nothing; it has a time limit (pip, --timeout, default 15 seconds)
. "${0%/*}/lib/tree.sh"
server silent
PIP_CONFIG_FILE=/dev/null python3 -m pip download --disable-pip-version-check --no-cache-dir --timeout "${SECS%.*}" --retries 0 -i "http://127.0.0.1:$PORT/simple/" six >out 2>&1 &
P=$!
PORTHEX=$(printf %04X "$PORT")
await sh -c "grep -i ' 0100007F:[0-9A-F]* 0100007F:$PORTHEX 01 ' /proc/net/tcp"
await in_call $P poll recv
ready $P
wait $P
E=$?
kill $SERVER
exit $E
