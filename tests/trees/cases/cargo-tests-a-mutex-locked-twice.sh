# truth: hung
# cause: lock|thread|futex|itself|each other
# needs: cargo
# moves: the harness says once that the test has been running for over 60 s
# about: cargo test runs a test that locks a mutex which it has already (Rust, Mutex.lock: might deadlock; libtest has no limit)
. "${0%/*}/lib/tree.sh"
export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$D/target
mkdir -p src; printf '[package]\nname = "a-stuck-one"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
printf '#[test]\nfn stuck() { let m = std::sync::Mutex::new(1); let a = m.lock().unwrap(); std::fs::write("%s/begun", "").unwrap(); let b = m.lock().unwrap(); assert_eq!(*a, *b); }\n' "$D" >src/lib.rs
cargo test -q --lib >out 2>&1 &
P=$!
await test -e begun
ready $P
wait $P
