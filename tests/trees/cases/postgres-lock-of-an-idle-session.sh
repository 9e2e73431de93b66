# truth: hung
# verdict: HUNG WAITING
# cause: postgres|psql
# certain: no
# moves: the server's background processes
# needs: root postgres initdb psql setpriv
# about: a client waits for a row lock of a session that is idle in its transaction (PostgreSQL, explicit locking)
. "${0%/*}/lib/tree.sh"
chmod 755 "$D"
echo "ipcrm -m \$(sed -n 7p $D/data/postmaster.pid | cut -c11-) 2>/dev/null" >cleanup
mkdir data && chown postgres data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as initdb -D "$D/data" -A trust -N >init 2>&1
as postgres -D "$D/data" -k "$D/data" -c listen_addresses= -c dynamic_shared_memory_type=mmap >log 2>&1 &
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
mkfifo session
psql -h "$D/data" -U postgres -q <session >first 2>&1 &
exec 8>session
echo 'create table t (n int); begin; lock table t; select 1;' >&8
await grep -q row first
show . poll psql -h "$D/data" -U postgres -qc 'insert into t values (1)'
