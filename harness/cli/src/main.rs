//! `rehang`: makes AI coding agents hang again, on purpose and the same way every time, and judges what anyone
//! does about it.

use std::process::ExitCode;

/// A cell makes and drops some thousand small texts: with this allocator the matrix on sim takes a seventh less.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rehang::app::main()
}
