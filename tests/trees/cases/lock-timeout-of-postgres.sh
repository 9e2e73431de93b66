# truth: healthy
# then: ends 1
# needs: root postgres initdb psql setpriv
# about: a client asks for an advisory lock of an idle session; its own session gives up after a time (PostgreSQL, lock_timeout)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
S=$!
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
mkfifo session
psql -h "$D/data" -U postgres -q <session >first 2>&1 &
exec 8>session
echo 'select pg_advisory_lock(42);' >&8
await grep -q row first
PGOPTIONS="-c lock_timeout=${SECS%.*}s" psql -h "$D/data" -U postgres -qc 'select pg_advisory_lock(42)' 2>refused &
P=$!
await in_call $P poll
ready $P
wait $P
E=$?
exec 8>&-
kill -INT "$(head -1 "$D/data/postmaster.pid")"
wait $S
exit $E
