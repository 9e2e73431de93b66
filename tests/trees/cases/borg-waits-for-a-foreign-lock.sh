# truth: healthy
# then: ends 2
# needs: borg node
# about: a backup waits for the repository's lock, which a process outside of its tree has, for at most its limit; it looks each second (borg, --lock-wait)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
export HOME=$D
export BORG_BASE_DIR=$D/b BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
borg init -e none r >ini 2>&1; echo x >f
mkfifo hold
foreign "import subprocess, os; subprocess.run(['borg', 'with-lock', '$D/r', 'sh', '-c', 'touch $D/locked; sleep 100000'], env=dict(os.environ), stdin=subprocess.DEVNULL)"
await test -e locked
tool "borg create --lock-wait $((S+2)) r::a f" &
A=$!
await below $A borg
await in_call $CHILD nanosleep select poll
ready $A
wait $A
