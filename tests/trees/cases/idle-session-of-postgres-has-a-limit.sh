# truth: healthy
# then: ends
# needs: root postgres initdb psql setpriv
# about: a client waits for the table lock of a session that is idle in its transaction; the server ends such sessions after a time (PostgreSQL, idle_in_transaction_session_timeout)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres -c idle_in_transaction_session_timeout="${SECS%.*}s"
S=$!
await psql -h "$D/data" -U postgres -qc 'create table t (n int)'
mkfifo session
psql -h "$D/data" -U postgres -q <session >first 2>&1 &
exec 8>session
echo 'begin; lock table t; select 1;' >&8
await grep -q row first
psql -h "$D/data" -U postgres -qc 'insert into t values (1)' &
P=$!
await sh -c "psql -h '$D/data' -U postgres -qtc \"select count(*) from pg_locks where not granted\" | grep -q 1"
await in_call $P poll
ready $P
wait $P
E=$?
exec 8>&-
kill -INT $S
exit $E
