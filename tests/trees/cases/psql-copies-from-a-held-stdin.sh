# truth: hung
# cause: pipe|stdin|input
# moves: the server's background processes
# needs: root postgres initdb psql setpriv node
# about: an agent's tool runs psql's COPY FROM STDIN with a pipe as stdin, which the agent keeps open (psql(1); PostgreSQL, COPY)
. "${0%/*}/lib/tree.sh"
chmod 755 "$D"
echo "ipcrm -m \$(sed -n 7p $D/data/postmaster.pid | cut -c11-) 2>/dev/null" >cleanup
mkdir data && chown postgres data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as initdb -D "$D/data" -A trust -N >init 2>&1
as postgres -D "$D/data" -k "$D/data" -c listen_addresses= -c dynamic_shared_memory_type=mmap >log 2>&1 &
export PGHOST=$D/data PGUSER=postgres
await psql -qc 'select 1' -o /dev/null
psql -qc 'create table t (n int)'
DO='{"tools":[{"cmd":["psql","-qc","copy t from stdin"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A psql read
ready $A
wait $A
