//! `rehang`: makes AI coding agents hang again, on purpose and the same way every time, and judges what anyone
//! does about it.

use rehang::allocator::Allocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    rehang::app::main()
}
