# truth: healthy
# then: ends 255
# needs: root ssh sshd ssh-keygen
# about: the other side of an ssh connection is stopped; ssh asks whether it lives, and ends after three silent answers (ssh_config(5), ServerAliveInterval, ServerAliveCountMax)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
S=${SECS%.*}; [ $S -gt 10 ] && S=$((S / 3))
ssh -F config -o ServerAliveInterval=$S -o ServerAliveCountMax=2 host 'echo $PPID >pid; sleep 3000' &
P=$!
export REMOTE=~root
remote() { R=$(pgrep -P "$(<sshd.pid)" sshd) && in_call $P poll select && pgrep -P $R >/dev/null; }
await remote
kill -STOP $R
for p in $(pgrep -P $R sshd); do kill -STOP $p; done
ready $P
wait $P
