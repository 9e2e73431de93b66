# truth: healthy
# then: ends
# needs: root postgres pg_ctl initdb psql setpriv
# about: a client waits for a query that takes its time in the server (PostgreSQL, pg_sleep)
. "${0%/*}/lib/tree.sh"
chmod 755 "$D"
echo "ipcrm -m \$(sed -n 7p $D/data/postmaster.pid | cut -c11-) 2>/dev/null" >cleanup
mkdir data && chown postgres data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as initdb -D "$D/data" -A trust -N >init 2>&1
as postgres -D "$D/data" -k "$D/data" -c listen_addresses= -c dynamic_shared_memory_type=mmap >log 2>&1 &
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
