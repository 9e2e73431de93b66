# truth: hung
# verdict: HUNG WAITING
# cause: python3|127\.0\.0\.1|server|answer
# certain: no
# needs: git python3
# about: git clone waits for a daemon that says nothing; the git protocol has no time limit (git-clone(1); only http has lowSpeedLimit)
. "${0%/*}/lib/tree.sh"
server silent
show . 'read recv' git clone -q "git://127.0.0.1:$PORT/a.git" a
