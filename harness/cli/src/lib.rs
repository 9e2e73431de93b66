//! The command: arguments and printing. `rehang-lab` is a second one, which is made of the same parts.
//!
//! Invariant: modules import downwards and never in a circle: `app`, then `commands`, then what several commands share,
//! then `error`. Cells, supervised commands, wrappers and real releases are run by libraries of their own.

/// Writes a line to stderr. A stderr that cannot be written, such as a file on a full disk, is ignored.
#[macro_export]
macro_rules! complain {
    ($($word:tt)*) => { $crate::terminal::complain(format_args!($($word)*)) };
}

pub mod allocator;
pub mod app;
pub mod bars;
pub mod book;
pub mod commands;
pub mod error;
pub mod last;
pub mod last_run;
pub mod moved;
pub mod on_record;
pub mod pictures;
pub mod place;
pub mod program;
pub mod releases;
pub mod report;
pub mod shell;
pub mod terminal;

use rehang_runner::{pool, worker};

/// Plays a fake or a worker if this process was started as one; then it never returns. Each program that runs cells calls it
/// first.
pub fn dispatch() {
    if rehang_fakes::dispatch() {
        std::process::exit(0);
    }
    // a command that is supervised may have any bytes
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if matches!(args.as_slice(), [_, first] if first == rehang_live::LIVE_ARG) {
        std::process::exit(rehang_live::cell::main());
    }
    if let [_, first, command @ ..] = args.as_slice()
        && first == rehang_live::relay::RELAY_ARG
    {
        std::process::exit(rehang_live::relay::main(command));
    }
    if let [_, first, says, command @ ..] = args.as_slice()
        && first == rehang_live::relay::HOST_ARG
    {
        std::process::exit(rehang_live::relay::host(says, command));
    }
    if matches!(args.as_slice(), [_, first] if first == rehang_wrapper::CELL_ARG) {
        std::process::exit(i32::from(rehang_wrapper::cell::main()));
    }
    if matches!(args.as_slice(), [_, first] if first == rehang_conform::CLIENT_ARG) {
        std::process::exit(rehang_conform::client::main());
    }
    if let [_, first, core, fakes] = args.as_slice()
        && first == pool::WORKER_ARG
    {
        std::process::exit(worker::main(core.parse().unwrap_or(0), fakes.as_ref()));
    }
}
