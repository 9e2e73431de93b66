//! The tracer on Linux.

mod calls;
mod clock;
mod events;
mod filter;
mod procfs;
mod proof;
mod quiescence;
mod random;
mod record;
mod run;
mod signals;
mod sockets;
mod start;
mod sys;
mod timed;
mod timers;
mod tracer;
mod tree;
mod view;
mod waits;
mod x86_64;

use crate::{Ending, Error, Warp};
use signals::{Blocked, Forwarder};

/// Runs a command in a thread of its own: a tracee's events go to the thread that traces it.
pub fn run(warp: Warp<'_>) -> Result<Ending, Error> {
    let blocked = warp.settings.forward_signals.then(Blocked::new);
    let mask = blocked.as_ref().map(Blocked::before);
    std::thread::scope(|scope| {
        let tracer = std::thread::Builder::new().spawn_scoped(scope, || trace(warp, mask));
        let tracer = tracer.map_err(|error| Error::Start { program: "a thread that traces".to_owned(), error })?;
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The command begins with these signals blocked, or with those of this thread.
fn trace(warp: Warp<'_>, mask: Option<libc::sigset_t>) -> Result<Ending, Error> {
    let Warp { command, settings, log, look } = warp;
    sys::set_short_slack();
    let record = record::Record::new(log);
    let started = start::start(command, settings.seed, mask)?;
    let forwarder = settings.forward_signals.then(Forwarder::new);
    let mut tracer = tracer::Tracer::new(settings, started.pid, record, look);
    tracer.begin();
    let ending = tracer.run(forwarder);
    drop(started.child.join());
    Ok(ending)
}
