# truth: healthy
# then: ends
# needs: hg
# about: hg waits for the lock of its repository, which a process outside of its tree has for a time; it looks each second, for at most ten minutes (Mercurial, ui.timeout=600: "waiting for lock")
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
export HOME=$D
hg init r; echo x >r/f; hg -R r add -q r/f
foreign "import os, socket, time; p = '$D/r/.hg/wlock'; os.symlink(socket.gethostname() + ':%d' % os.getpid(), p); open('$D/locked', 'w').close(); time.sleep($S+2); os.unlink(p)"
await test -e locked
hg -R r --config ui.timeout=100000 commit -u a -m x >out 2>&1 </dev/null &
P=$!
await grep -q 'waiting for lock' out
ready $P
wait $P
