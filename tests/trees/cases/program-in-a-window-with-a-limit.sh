# truth: healthy
# then: ends
# needs: Xvfb xmessage
# about: a program's window closes by itself after a time; a script waits for it (xmessage(1), -timeout; Xvfb(1))
. "${0%/*}/lib/tree.sh"
Xvfb -displayfd 3 -screen 0 320x240x8 -nolisten tcp 3>display >log 2>&1 &
X=$!
await test -s display
export DISPLAY=:$(<display)
bash -c 'xmessage -timeout "$SECS" "Done"; exit $?' &
P=$!
await waits_below $P xmessage poll
sleep 1
ready $P
wait $P
E=$?
kill $X
exit $E
