# truth: hung
# verdict: HUNG WAITING
# cause: postgres|psql
# certain: no
# moves: the server's background processes
# needs: root postgres initdb psql setpriv
# about: a script keeps a session that has an advisory lock, and waits for a second psql that asks for the same lock (PostgreSQL, pg_advisory_lock; lock_timeout's default is 0)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
cat >migrate.py <<'S'
import os, subprocess
psql = ["psql", "-h", os.environ["D"] + "/data", "-U", "postgres", "-qtA"]
first = subprocess.Popen(psql, stdin=-1, stdout=-1, text=True)
first.stdin.write("select pg_advisory_lock(42);\nselect 7;\n"); first.stdin.flush()
while first.stdout.readline().strip() != "7": pass
subprocess.run([*psql, "-c", "select pg_advisory_lock(42)"])
first.stdin.close(); first.wait()
S
python3 migrate.py </dev/null &
P=$!
await sh -c "psql -h '$D/data' -U postgres -qtc \"select count(*) from pg_locks where not granted\" | grep -q 1"
ready $P
wait $P
