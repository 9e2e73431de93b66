# truth: healthy
# then: ends 3
# needs: expect
# about: expect waits for a text that its program does not say, for at most its timeout (expect(1), timeout)
. "${0%/*}/lib/tree.sh"
show cat read expect -c 'log_user 0; set timeout [expr {int($env(SECS))}]; spawn cat; expect never {exit 0} timeout {exit 3}'
