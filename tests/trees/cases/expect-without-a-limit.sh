# truth: hung
# cause: terminal|cat|expect|each other|pty
# needs: expect
# about: expect waits without a limit for a text; its program waits at the other end of the terminal for a line (expect(1), timeout -1)
. "${0%/*}/lib/tree.sh"
show cat read expect -c 'log_user 0; set timeout -1; spawn cat; expect never'
