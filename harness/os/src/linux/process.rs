//! This process as a fake: its variables, its name, the messages of the scheduler, its end.
//!
//! Invariant: a fake that finds an internal error ends with exit code 70, and says why to its scheduler, if it has one.

use crate::exec::ENV_PREFIX;
use crate::lockstep::protocol::{CONTROL_ENV, CONTROL_FD, Channel, Said, Told};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd};

/// This process's variables: those given by the process that started it; where it gave none, those of its surroundings.
pub(crate) fn environment() -> Vec<(String, String)> {
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

/// Ends this process at once.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: ends the process; nothing runs after it.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Ends this process for a reason that is an internal error: exit code 70.
pub(crate) fn give_up(why: &str) -> ! {
    if std::env::var_os(CONTROL_ENV).is_some() {
        answer(&Said::Panicked(why.to_owned()));
    } else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "rehang: {why}");
    }
    leave(70)
}

/// Says something over the control socket, whoever has it here.
pub(crate) fn answer(said: &Said) {
    // SAFETY: the control socket stays open as long as the process lives, and this never drops it.
    let socket = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
    let mut channel = ManuallyDrop::new(Channel::new(socket));
    channel.put(said);
    let _ = channel.send(&[]);
}

/// The scheduler's next message. A participant that has lost its scheduler ends.
pub(crate) fn hear(channel: &mut Channel) -> Told {
    let parcel = channel.receive();
    let Ok(Some(mut parcel)) = parcel else { leave(1) };
    match parcel.message() {
        Ok(Some(told)) => told,
        Ok(None) => give_up("the scheduler said nothing"),
        Err(error) => give_up(&format!("the scheduler said what nobody understands: {error}")),
    }
}
