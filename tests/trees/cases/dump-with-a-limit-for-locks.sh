# truth: healthy
# then: ends 1
# needs: root postgres initdb psql setpriv pg_dump
# about: a dump waits for a table's lock, which an idle session of the same script has, for at most its limit (pg_dump(1), --lock-wait-timeout)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
S=${SECS%.*}
start_postgres
PG=$!
export PGHOST=$D/data PGUSER=postgres
await psql -qc "select 1" -o /dev/null
psql -qc 'create table t (a int)'
mkfifo in
cat >run.sh <<J
psql -q <in >held & exec 5>in
echo 'begin; lock table t; \! touch locked' >&5
until [ -e locked ]; do sleep .1; done
pg_dump --lock-wait-timeout=$((S+2))s >dump 2>err
C=\$?; exec 5>&-; wait; exit \$C
J
bash run.sh >out 2>&1 </dev/null &
P=$!
await waits_below $P pg_dump poll
ready $P
wait $P; C=$?
kill -INT $(head -1 data/postmaster.pid); kill $PG; exit $C
