# truth: healthy
# then: ends
# needs: root postgres pg_ctl initdb psql setpriv
# about: a client waits for a query that takes its time in the server (PostgreSQL, pg_sleep)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
S=$!
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
psql -h "$D/data" -U postgres -qc "select pg_sleep($SECS)" -o /dev/null &
P=$!
await in_call $P poll
ready $P
wait $P
E=$?
kill -INT $S
exit $E
