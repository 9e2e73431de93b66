# truth: healthy
# then: ends
# needs: cargo rustc gcc flock
# about: cargo waits for the lock of a target folder, which another process has for a time (Cargo, build cache)
. "${0%/*}/lib/tree.sh"
mkdir -p one/src target/debug
printf '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n' >one/Cargo.toml
echo 'fn main() {}' >one/src/main.rs
: >target/debug/.cargo-lock
flock target/debug/.cargo-lock -c 'touch held; sleep "$SECS"' &
await test -e held
show cargo flock bash -c 'cargo build -q --offline --manifest-path one/Cargo.toml --target-dir target; exit $?'
