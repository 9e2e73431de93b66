# truth: healthy
# then: ends
# needs: root postgres initdb psql setpriv
# about: two transactions wait for each other's rows; the server looks for deadlocks after a time and ends one of them with an error (PostgreSQL, deadlock_timeout; Explicit Locking, Deadlocks)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres -c deadlock_timeout="${SECS%.*}s"
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
