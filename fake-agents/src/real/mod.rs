//! Runs a persona as a real process: under a conductor in virtual time, or alone on the wall clock.
//!
//! Invariant: a binary that calls [`dispatch`] first is every fake, by the name that it is started under; a
//! participant ends with its conductor, whatever it is doing.

mod alone;
pub mod control;
pub mod descriptor;
pub mod journal;
pub mod machine;
mod os;
pub mod participant;
pub mod signals;
pub mod spawn;
pub mod stand_in;

pub use os::{Programs, connect, listen};

use crate::exec::ENV_PREFIX;
use control::{CONTROL_ENV, CONTROL_FD, Channel, Said, Told};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd};

/// The names that a fake can be started under.
pub const NAMES: [&str; 8] =
    ["fake-tool", "fake-claude", "fake-opencode", "fake-altimate", "fake-pawwork", "claude", "opencode", "altimate"];

/// What this build of the fakes is: a digest of its sources.
pub const BUILD: &str = env!("REHANG_FAKES_BUILD");

/// The argument by which the binary of the fakes says its [`BUILD`].
pub const BUILD_ARG: &str = "--build";

/// The session's leader of a terminal whose foreground is not the agent's: a shell that started it with `&`.
pub const SHELL: &str = "fake-shell";

/// Plays the fake that `argv[0]` names, or `argv[1]` where the binary is called `rehang-fakes`, and does not
/// come back then. `false`: no fake is named.
pub fn dispatch() -> bool {
    dispatch_with(crate::program)
}

/// As [`dispatch`], with programs of one's own under the names of [`NAMES`].
pub fn dispatch_with(programs: Programs) -> bool {
    let mut argv: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if name(&argv) == "rehang-fakes" && argv.len() > 1 {
        argv.remove(0);
    }
    let controlled = std::env::var_os(CONTROL_ENV).is_some_and(|fd| fd == *CONTROL_FD.to_string());
    match name(&argv) {
        SHELL if controlled => participant::shell(),
        fake if NAMES.contains(&fake) || fake == "pawwork" => {
            std::panic::set_hook(Box::new(move |info| {
                let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
                let text = info.payload_as_str().unwrap_or("something that is no text");
                give_up(&format!("panicked{place}: {text}"))
            }));
            match controlled {
                true => participant::play(programs, &argv),
                false => alone::play(programs, &argv),
            }
        }
        _ => false,
    }
}

/// This process's variables: those that whoever started it gave it, and its surroundings' where they gave none.
fn environment() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut surroundings = Vec::new();
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy().into_owned());
        match name.strip_prefix(ENV_PREFIX) {
            Some(name) => all.push((name.to_owned(), value)),
            None => surroundings.push((name.into_owned(), value)),
        }
    }
    surroundings.retain(|(name, _)| all.iter().all(|(given, _)| given != name));
    all.extend(surroundings);
    all
}

fn name(argv: &[String]) -> &str {
    argv.first().map_or("", |path| path.rsplit('/').next().unwrap_or(""))
}

/// Ends this process at once.
fn leave(code: u8) -> ! {
    // SAFETY: ends the process; nothing runs after it.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Ends this process for a reason that is rehang's own fault: exit code 70.
fn give_up(why: &str) -> ! {
    if std::env::var_os(CONTROL_ENV).is_some() {
        // SAFETY: the control socket stays open as long as the process lives, and this never drops it.
        let socket = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
        let mut channel = ManuallyDrop::new(Channel::new(socket));
        channel.put(&Said::Panicked(why.to_owned()));
        let _ = channel.send(&[]);
    } else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "rehang: {why}");
    }
    leave(70)
}

/// The conductor's next word. A participant that has lost its conductor ends.
fn hear(channel: &mut Channel) -> Told {
    let parcel = channel.receive();
    let Ok(Some(mut parcel)) = parcel else { leave(1) };
    match parcel.message() {
        Ok(Some(told)) => told,
        Ok(None) => give_up("the conductor said nothing"),
        Err(error) => give_up(&format!("the conductor said what nobody understands: {error}")),
    }
}
