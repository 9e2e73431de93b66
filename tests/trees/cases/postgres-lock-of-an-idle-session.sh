# truth: hung
# verdict: HUNG WAITING
# cause: postgres|psql
# certain: no
# moves: the server's background processes
# needs: root postgres initdb psql setpriv
# about: a client waits for a row lock of a session that is idle in its transaction (PostgreSQL, explicit locking)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
mkfifo session
psql -h "$D/data" -U postgres -q <session >first 2>&1 &
exec 8>session
echo 'create table t (n int); begin; lock table t; select 1;' >&8
await grep -q row first
show . poll psql -h "$D/data" -U postgres -qc 'insert into t values (1)'
