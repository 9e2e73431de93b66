# truth: hung
# verdict: HUNG WAITING
# cause: postgres|psql|pg_dump|pipe
# moves: the server's background processes
# needs: root postgres initdb psql pg_dump setpriv
# about: pg_dump is read by a psql of the same database that drops the table: the drop waits for the dump's lock, and the dump waits in the full pipe (PostgreSQL, pg_dump takes ACCESS SHARE; Explicit Locking: the server cannot see such a deadlock)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
export PGHOST=$D/data PGUSER=postgres
await psql -qc 'select 1' -o /dev/null
psql -qc "create table t as select n, repeat('x', 200) s from generate_series(1, 60000) n; create table u as select * from t"
echo 'pg_dump -c | psql -q' >job.sh
bash job.sh >out 2>&1 &
P=$!
await sh -c "psql -qtc \"select 1 from pg_locks where not granted\" | grep -q 1"
await waits_below $P pg_dump write poll sendto
ready $P
wait $P
