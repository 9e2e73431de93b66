# truth: healthy
# then: ends
# needs: cargo rustc gcc
# about: cargo waits for a build script that waits for a time; its output is read all the while (Cargo, build scripts)
. "${0%/*}/lib/tree.sh"
mkdir -p one/src
printf '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n' >one/Cargo.toml
echo 'fn main() { let s: f64 = std::env::var("SECS").unwrap().parse().unwrap(); std::thread::sleep(std::time::Duration::from_secs_f64(s)); }' >one/build.rs
echo 'fn main() {}' >one/src/main.rs
unset RUSTC_WRAPPER
show build-script nanosleep cargo build -q --offline --manifest-path one/Cargo.toml --target-dir target
