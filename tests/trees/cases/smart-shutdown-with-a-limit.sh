# truth: healthy
# then: ends 1
# needs: root postgres pg_ctl initdb psql setpriv
# about: pg_ctl waits for a server that waits for its clients to leave, and gives up after its limit (pg_ctl(1), -m smart, -t, default 60 s)
. "${0%/*}/lib/tree.sh"; . "$LIB/postgres.sh"
start_postgres
S=$!
await psql -h "$D/data" -U postgres -qc 'select 1' -o /dev/null
mkfifo session
psql -h "$D/data" -U postgres -q <session >first 2>&1 &
exec 8>session
echo 'select 1;' >&8
await grep -q row first
as pg_ctl stop -D "$D/data" -m smart -t "${SECS%.*}" >stop 2>&1 &
P=$!
await grep -q shutdown log
ready $P
wait $P
E=$?
exec 8>&-
wait $S
exit $E
