# truth: hung
# cause: lock
# culprit: cargo
# moves: cargo looks at its jobs twice a second
# needs: cargo cc
# about: a package's build script runs cargo, which waits for the lock of the target folder; the first cargo has that and waits for the build script (Cargo: "Blocking waiting for file lock on build directory")
. "${0%/*}/lib/tree.sh"
# the real cargo, not the proxy of rustup
export PATH=$(dirname "$(rustup which cargo 2>/dev/null || command -v cargo)"):$PATH RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=$D/ch CARGO_NET_OFFLINE=true
mkdir src; echo 'fn main() {}' >src/main.rs
printf '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n[workspace]\n' >Cargo.toml
echo 'fn main() { std::process::Command::new(std::env::var("CARGO").unwrap()).args(["build"]).env("NESTED", "1").env_remove("NUM_JOBS").status().unwrap(); }' >build.rs
cargo build >out 2>&1 </dev/null &
P=$!
nested() { for c in $(cat /proc/$P/task/*/children); do waits_below $c cargo flock && return 0; done; return 1; }
await nested
ready $P
wait $P
