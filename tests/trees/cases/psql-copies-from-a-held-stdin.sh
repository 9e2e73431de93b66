# truth: hung
# cause: pipe|stdin|input
# moves: the server's background processes
# needs: root postgres initdb psql setpriv node
# about: an agent's tool runs psql's COPY FROM STDIN with a pipe as stdin, which the agent keeps open (psql(1); PostgreSQL, COPY)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
export PGHOST=$D/data PGUSER=postgres
await psql -qc 'select 1' -o /dev/null
psql -qc 'create table t (n int)'
DO='{"tools":[{"cmd":["psql","-qc","copy t from stdin"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A psql read
ready $A
wait $A
