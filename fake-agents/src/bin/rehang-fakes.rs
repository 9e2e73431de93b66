//! Every fake in one small binary: started under a fake's name, or as `rehang-fakes fake-tool …`.

use rehang_fakes::real::{BUILD, BUILD_ARG};

fn main() -> std::process::ExitCode {
    if std::env::args_os().skip(1).eq([BUILD_ARG]) {
        println!("{BUILD}");
        return std::process::ExitCode::SUCCESS;
    }
    if !rehang_fakes::real::dispatch() {
        eprintln!(
            "usage: rehang-fakes FAKE [ARGUMENT…], or under a fake's name: {}",
            rehang_fakes::real::NAMES.join(", ")
        );
        return std::process::ExitCode::from(2);
    }
    std::process::ExitCode::SUCCESS
}
