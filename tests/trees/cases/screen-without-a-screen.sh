# truth: healthy
# then: ends
# needs: xvfb-run Xvfb
# about: a test runs on a virtual screen, whose server is idle, and ends by itself (xvfb-run(1), Xvfb(1))
. "${0%/*}/lib/tree.sh"
show sleep nanosleep xvfb-run -a -f "$D/auth" bash -c 'sleep "$SECS"; true'
