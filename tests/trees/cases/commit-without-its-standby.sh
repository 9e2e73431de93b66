# truth: hung
# verdict: HUNG WAITING
# cause: postgres|psql
# certain: no
# moves: the server's background processes
# needs: root postgres initdb psql setpriv
# about: a commit waits for a synchronous standby that is not there, without a limit (PostgreSQL, synchronous_standby_names, "Planning for High Availability")
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres -c synchronous_standby_names=b
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
psql -h "$D/data" -U postgres -qc 'create table t (n int)' &
P=$!
await sh -c "psql -h '$D/data' -U postgres -qtc \"select wait_event from pg_stat_activity\" | grep -q SyncRep"
await in_call $P poll
ready $P
wait $P
