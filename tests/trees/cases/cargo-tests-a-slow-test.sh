# truth: healthy
# then: ends
# needs: cargo
# about: cargo test runs a harness whose main thread waits for a test that sleeps in a thread of its own (Rust, libtest: a word after 60 s, no limit)
. "${0%/*}/lib/tree.sh"
export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$D/target
mkdir -p src; printf '[package]\nname = "a-slow-one"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
printf '#[test]\nfn slow() { std::fs::write("%s/begun", "").unwrap(); std::thread::sleep(std::time::Duration::from_secs(std::env::var("SECS").unwrap().parse::<f64>().unwrap() as u64)); }\n' "$D" >src/lib.rs
cargo test -q --lib >out 2>&1 &
P=$!
await test -e begun
ready $P
wait $P
