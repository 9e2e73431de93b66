# truth: healthy
# then: ends 101
# needs: cargo python3
# about: cargo waits for a registry that says nothing; it has a time limit (Cargo configuration, http.timeout; net.retry)
. "${0%/*}/lib/tree.sh"
server silent
mkdir -p src .cargo
touch src/lib.rs
printf '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nb = "1"\n' >Cargo.toml
printf '[source.crates-io]\nreplace-with = "m"\n[source.m]\nregistry = "sparse+http://127.0.0.1:%s/"\n[http]\ntimeout = %s\n[net]\nretry = 0\n' "$PORT" "${SECS%.*}" >.cargo/config.toml
REAL=$(rustup which cargo 2>/dev/null || command -v cargo)
CARGO_HOME="$D/home" "$REAL" fetch >out 2>&1 &
P=$!
PORTHEX=$(printf %04X "$PORT")
await sh -c "grep -i ' 0100007F:[0-9A-F]* 0100007F:$PORTHEX 01 ' /proc/net/tcp"
ready $P
wait $P
E=$?
kill $SERVER
exit $E
