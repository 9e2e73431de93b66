//! `rehang`: makes AI coding agents hang again, on purpose and the same way every time, and judges what anyone
//! does about it.

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    rehang::app::main()
}
