# Starts a PostgreSQL of the case's own, reached by a socket in $D/data alone; more arguments are the server's. $! is its pid.
start_postgres() {
    chmod 755 "$D"
    echo "ipcrm -m \$(sed -n 7p $D/data/postmaster.pid | cut -c11-) 2>/dev/null" >cleanup
    mkdir data && chown postgres data
    as initdb -D "$D/data" -A trust -N >init 2>&1
    as postgres -D "$D/data" -k "$D/data" -c listen_addresses= -c dynamic_shared_memory_type=mmap "$@" >log 2>&1 &
}
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
