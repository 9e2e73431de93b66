# truth: hung
# cause: thread|lock|itself|wak|nobody
# needs: rustc
# about: a program reads a channel to its end, which does not come while it has a sender itself (Rust, std::sync::mpsc::Receiver.iter)
. "${0%/*}/lib/tree.sh"
cat >one.rs <<'S'
fn main() {
    let (tx, rx) = std::sync::mpsc::channel();
    for n in 0..3 { let tx = tx.clone(); std::thread::spawn(move || tx.send(n).unwrap()); }
    for n in rx { println!("{n}"); }
}
S
rustc -o one one.rs
./one >out &
P=$!
await sh -c 'test $(wc -l <out) = 3'
await sh -c "test \$(ls /proc/$P/task | wc -l) = 1"
await in_call $P futex
ready $P
wait $P
