# truth: hung
# verdict: HUNG WAITING
# cause: lock
# culprit: python3|http\.server
# certain: no
# moves: the server looks for its end twice a second (socketserver, serve_forever)
# about: a deployment's script has ended, and the server that it started has inherited its lock; the next one waits for it (flock(2): the lock is of the open file description, which fork duplicates)
. "${0%/*}/lib/tree.sh"
export PYTHONUNBUFFERED=1
bash -c 'exec 9>lock; flock 9; python3 -m http.server --bind 127.0.0.1 0 >server 2>&1 &' </dev/null
await grep -q Serving server
show flock flock bash -c 'flock lock -c "echo deployed"; exit'
