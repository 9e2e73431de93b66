# truth: healthy
# then: ends
# needs: node cargo
# about: an agent's tool follows cargo's log with tail -F and runs cargo, which waits for the lock of the target folder that an editor outside of the tree has for a time (Cargo, build cache; tail(1))
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 15))
export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$D/target
mkdir -p src target/debug; printf '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml; echo 'fn main() {}' >src/main.rs
cargo build -q 2>first
setsid -f flock target/debug/.cargo-lock bash -c 'touch has; sleep "$SECS"' </dev/null >/dev/null 2>&1
await test -e has
printf 'tail -F log & T=$!\ncargo build >log 2>&1\nkill $T; exit 0\n' >tool.sh
touch log
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent codex exec go </dev/null &
A=$!
await grep -q Blocking log
ready $A
wait $A
