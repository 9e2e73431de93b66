//! Every fake in one small binary: started under a fake's name, or as `rehang-fakes fake-tool …`.

use rehang_fakes::registry::{BUILD, BUILD_ARG, names};

fn main() -> std::process::ExitCode {
    if std::env::args_os().skip(1).eq([BUILD_ARG]) {
        println!("{BUILD}");
        return std::process::ExitCode::SUCCESS;
    }
    if !rehang_fakes::dispatch() {
        eprintln!("usage: rehang-fakes FAKE [ARGUMENT…], or under a fake's name: {}", names().join(", "));
        return std::process::ExitCode::from(2);
    }
    std::process::ExitCode::SUCCESS
}
