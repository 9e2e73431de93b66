# truth: healthy
# then: ends 1
# needs: root mariadbd mariadb mariadb-install-db
# about: a client waits for the row lock of an idle session; the server gives up after its limit, error 1205 (MariaDB, innodb_lock_wait_timeout, default 50 s)
. "${0%/*}/lib/tree.sh"
mariadb-install-db --no-defaults --datadir="$D/data" --auth-root-authentication-method=normal --skip-test-db --user=root >init 2>&1
mariadbd --no-defaults --user=root --datadir="$D/data" --socket="$D/s" --skip-networking --pid-file="$D/pid" --innodb-lock-wait-timeout="${SECS%.*}" >log 2>&1 &
S=$!
sql() { mariadb --no-defaults -u root -S "$D/s" "$@"; }
await sql -e 'create database d; create table d.t (n int primary key) engine=innodb; insert into d.t values (1)'
mkfifo session
mariadb --no-defaults -u root -S "$D/s" -n d <session >first 2>&1 &
exec 8>session
echo 'begin; update t set n = 2; select "taken";' >&8
await grep -q taken first
mariadb --no-defaults -u root -S "$D/s" d -e 'update t set n = 3' &
P=$!
await in_call $P poll recv read
await sh -c "mariadb --no-defaults -u root -S '$D/s' -Ne \"select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'\" | grep -qx 1"
ready $P
wait $P
E=$?
kill $S
exit $E
