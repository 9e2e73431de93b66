//! The command: what a user sees of the house.
//!
//! Invariant: this crate decides nothing about agents, strategies or hangs; it finds files, deals out work, and
//! shows what came out.

/// Says a line on stderr. One that takes nothing, such as a full disk, is no reason to end.
macro_rules! complain {
    ($($word:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(anstream::stderr(), $($word)*);
    }};
}

pub mod catalogue;
pub mod commands;
pub mod corpus;
pub mod face;
pub mod outputs;
pub mod pictures;
pub mod pool;
pub mod report;
pub mod supervise;
pub mod terminal;
pub mod unit;
pub mod upstream;
pub mod worker;
pub mod wrapper;

use commands::CommandError;
use rehang_fakes::registry::{BUILD, BUILD_ARG};
use rehang_os::linux::machine;
use std::path::PathBuf;
use std::process::Stdio;

/// Plays a fake, a worker or a busy loop, where that is what this process was started as; never returns then.
pub fn dispatch() {
    if rehang_fakes::dispatch() {
        std::process::exit(0);
    }
    // a command that is supervised may have any bytes
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if matches!(args.as_slice(), [_, first] if first == rehang_live::LIVE_ARG) {
        std::process::exit(rehang_live::cell::main());
    }
    if matches!(args.as_slice(), [_, first] if first == wrapper::CELL_ARG) {
        std::process::exit(i32::from(wrapper::cell::main()));
    }
    if let [_, first, core, fakes] = args.as_slice()
        && first == pool::WORKER_ARG
    {
        std::process::exit(worker::main(core.parse().unwrap_or(0), fakes.as_ref()));
    }
    // No word of the command's face: clap would suggest it.
    if let [_, only] = args.as_slice()
        && only == commands::measure::BUSY_ARG
    {
        commands::measure::burn();
    }
}

/// This binary.
///
/// # Errors
/// It cannot be found: `/proc` is not mounted.
pub fn own_binary() -> Result<PathBuf, CommandError> {
    machine::has_proc().map_err(CommandError::Fault)?;
    std::env::current_exe().map_err(|error| CommandError::Fault(format!("rehang does not find itself: {error}")))
}

/// The binary of the fakes: `REHANG_FAKES`, or `rehang-fakes` beside this binary, or this binary itself. One of another
/// build is not taken: it would play what sim does not, and `cargo build --package rehang` leaves an old one there.
///
/// # Errors
/// This binary cannot be found.
pub fn fakes() -> Result<PathBuf, CommandError> {
    // whoever plays needs it
    machine::has_proc().map_err(CommandError::Fault)?;
    if let Some(path) = std::env::var_os("REHANG_FAKES") {
        return Ok(path.into());
    }
    let own = own_binary()?;
    let beside = own.with_file_name("rehang-fakes");
    let said = std::process::Command::new(&beside).arg(BUILD_ARG).stdin(Stdio::null()).output();
    let same = said.is_ok_and(|said| said.stdout.trim_ascii() == BUILD.as_bytes());
    Ok(if same { beside } else { own })
}

/// Workers made of this binary, a core each.
///
/// # Errors
/// This binary cannot be found.
pub fn workers(jobs: Option<usize>) -> Result<pool::Workers, CommandError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(pool::Workers { exe: own_binary()?, fakes: fakes()?, jobs: jobs.unwrap_or(cores) })
}
