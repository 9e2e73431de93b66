# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run kill $(cat $D/xmessage)
# needs: Xvfb xmessage
# about: a program shows a window on a virtual screen and waits for a click of a person, who may look at it by VNC (xmessage(1), Xvfb(1))
. "${0%/*}/lib/tree.sh"
Xvfb -displayfd 3 -screen 0 320x240x8 -nolisten tcp 3>display >log 2>&1 &
X=$!
await test -s display
export DISPLAY=:$(<display)
bash -c 'echo $$ >xmessage; exec xmessage "Deploy to production?"' &
P=$!
await in_call $P poll
sleep 1
ready $P
wait $P
kill $X
exit 0
