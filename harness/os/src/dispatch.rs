//! Runs a program as a real process: under a scheduler in virtual time, or alone on the wall clock.
//!
//! Invariant: a binary that calls [`dispatch`] first is every fake, by the name that it is started under; a participant
//! ends with its scheduler, whatever it is doing.

use crate::alone;
use crate::linux::process::give_up;
use crate::lockstep::participant;
use crate::lockstep::protocol::{CONTROL_ENV, CONTROL_FD, SHELL, STARTER};
use crate::os::{Programs, program_name};

/// The name of the binary whose first argument names the fake.
const BINARY: &str = "rehang-fakes";

/// What a binary of fakes can play.
#[derive(Clone, Copy)]
pub struct Fakes {
    /// The names under which it plays.
    pub names: &'static [&'static str],
    /// Finds the program that a command line starts.
    pub programs: Programs,
    /// What a fake that runs alone is to play instead of its command line, if a folder says so.
    pub folder: alone::Folder,
}

/// Plays the fake that `argv[0]` names, or `argv[1]` if the binary is called `rehang-fakes`, and does not return in
/// that case. Returns `false` if no fake is named.
pub fn dispatch(fakes: Fakes) -> bool {
    let mut argv: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if program_name(&argv) == BINARY && argv.len() > 1 {
        argv.remove(0);
    }
    let controlled = std::env::var_os(CONTROL_ENV).is_some_and(|fd| fd == *CONTROL_FD.to_string());
    let own = [SHELL, STARTER];
    match program_name(&argv) {
        fake if fakes.names.contains(&fake) || (controlled && own.contains(&fake)) => {
            std::panic::set_hook(Box::new(move |info| {
                let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
                let text = info.payload_as_str().unwrap_or("something that is no text");
                give_up(&format!("panicked{place}: {text}"))
            }));
            match (controlled, fake) {
                (true, SHELL) => participant::shell(fakes.programs),
                (true, STARTER) => participant::starter(fakes.programs, &argv),
                (true, _) => participant::play(fakes.programs, &argv),
                (false, _) => alone::play(fakes.programs, fakes.folder, &argv),
            }
        }
        _ => false,
    }
}
