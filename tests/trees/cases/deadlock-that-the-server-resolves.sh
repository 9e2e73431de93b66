# truth: healthy
# then: ends
# needs: root postgres initdb psql setpriv
# about: two transactions wait for each other's rows; the server looks for deadlocks after a time and ends one of them with an error (PostgreSQL, deadlock_timeout; Explicit Locking, Deadlocks)
. "${0%/*}/lib/tree.sh"
chmod 755 "$D"
echo "ipcrm -m \$(sed -n 7p $D/data/postmaster.pid | cut -c11-) 2>/dev/null" >cleanup
mkdir data && chown postgres data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as initdb -D "$D/data" -A trust -N >init 2>&1
as postgres -D "$D/data" -k "$D/data" -c listen_addresses= -c dynamic_shared_memory_type=mmap -c deadlock_timeout="${SECS%.*}s" >log 2>&1 &
S=$!
export PGHOST=$D/data PGUSER=postgres
await psql -qc 'select 1' -o /dev/null
psql -qc 'create table a (n int); create table b (n int)'
cat >job.sh <<'S'
half() { psql -qc 'begin' -c "lock table $1" -c "\! touch has-$1; until [ -e has-$2 ]; do sleep .1; done" -c "lock table $2" -c commit; }
half a b & half b a & wait; exit 0
S
bash job.sh >out 2>&1 &
P=$!
await sh -c "test \$(psql -qtc \"select count(*) from pg_locks where not granted\") = 2"
ready $P
wait $P
E=$?
kill -TERM $S; wait $S
exit $E
