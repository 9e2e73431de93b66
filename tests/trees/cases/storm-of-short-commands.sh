# truth: healthy
# then: ends
# about: a script runs short commands one after the other for a time, four at once, each of which ends in milliseconds (bash(1))
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
for n in 1 2 3 4; do (end=$((SECONDS + ${SECS%.*})); while [ $SECONDS -lt $end ]; do /bin/true; read -t .05 <> <(:) ; done) & done; touch begun; wait; exit 0
S
SECS=$SECS bash job.sh 2>err &
P=$!
await test -e begun
ready $P
wait $P
