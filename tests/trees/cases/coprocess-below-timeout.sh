# truth: healthy
# then: ends
# about: a shell reads its coprocess, and that reads the shell; timeout ends the coprocess after a time (bash(1), Coprocesses; timeout(1))
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
coproc P { timeout "$((${SECS%.*} + 8))" bash -c 'read x; echo "$x"'; }
read -r got <&"${P[0]}"; exit 0
S
bash job.sh &
P=$!
await below $P timeout
deep() { local t; below $P timeout && t=$CHILD && waits_below $t bash read && in_call $P read; }
await deep
ready $P
wait $P
