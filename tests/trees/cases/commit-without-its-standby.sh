# truth: hung
# verdict: HUNG WAITING
# cause: postgres|psql
# certain: no
# moves: the server's background processes
# needs: root postgres initdb psql setpriv
# about: a commit waits for a synchronous standby that is not there, without a limit (PostgreSQL, synchronous_standby_names, "Planning for High Availability")
. "${0%/*}/lib/tree.sh"
chmod 755 "$D"
echo "ipcrm -m \$(sed -n 7p $D/data/postmaster.pid | cut -c11-) 2>/dev/null" >cleanup
mkdir data && chown postgres data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as initdb -D "$D/data" -A trust -N >init 2>&1
as postgres -D "$D/data" -k "$D/data" -c listen_addresses= -c dynamic_shared_memory_type=mmap -c synchronous_standby_names=b >log 2>&1 &
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
psql -h "$D/data" -U postgres -qc 'create table t (n int)' &
P=$!
await sh -c "psql -h '$D/data' -U postgres -qtc \"select wait_event from pg_stat_activity\" | grep -q SyncRep"
await in_call $P poll
ready $P
wait $P
