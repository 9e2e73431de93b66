//! `rehang`: makes AI coding agents hang again, on purpose and the same way every time, and judges what anyone
//! does about it.

use std::process::ExitCode;

fn main() -> ExitCode {
    rehang::app::main()
}
