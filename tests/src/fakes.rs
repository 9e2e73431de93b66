//! The fakes' binary, built here so that the tests always have the one that belongs to them.

fn main() {
    if !rehang_fakes::dispatch() {
        eprintln!("usage: rehang-test-fakes fake-claude|fake-opencode|fake-tool …");
        std::process::exit(2);
    }
}
