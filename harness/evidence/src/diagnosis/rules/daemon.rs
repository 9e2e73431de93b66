//! A request to a daemon on a Unix socket with a name, or to a listener that has not taken the connection yet.
//!
//! Invariant: who is asked was not started by the one that asks, and answers others as well: it is never called a stray, and
//! what it waits for is looked for below it too.

use super::{Rules, Wait, best};
use crate::data::{Descriptor, Family, Pid, Process, State};
use crate::diagnosis::Verdict;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use rehang_hangs::{Mechanism, Signature};
use rehang_words::text::duration;

/// How long a daemon may take for its answer before the wait counts as hung, in milliseconds: guard's limit for a peer.
const SILENT_MS: u64 = 30 * 60_000;

/// The end of a connection to a daemon.
pub enum End {
    /// Of one that asks: the daemon's address, and the socket that its processes hold.
    Client(String, u64),
    /// Of the daemon itself.
    Server,
}

/// Which end of a connection to a daemon a descriptor is, if it is one.
pub fn end(view: &View<'_>, fd: &Descriptor) -> Option<End> {
    let socket = view.socket(fd).filter(|socket| socket.family == Family::Unix)?;
    if let Some(listener) = view.after.queued.get(&socket.inode).and_then(|inode| view.after.sockets.get(inode)) {
        return Some(End::Client(listener.local.clone(), listener.inode));
    }
    if !socket.local.is_empty() {
        return Some(End::Server);
    }
    let peer = socket.peer.and_then(|peer| view.after.sockets.get(&peer)).filter(|peer| !peer.local.is_empty())?;
    Some(End::Client(peer.local.clone(), peer.inode))
}

/// A wait for a daemon's answer. A connection that an event loop watches among others may be kept for later.
pub fn read(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, end: End) -> Option<Finding> {
    let view = rules.view;
    let End::Client(at, held) = end else { return None };
    let daemons: Vec<Pid> = view.after.socket_holders(held).map(|(holder, _)| holder.pid).collect();
    if wait.polled {
        let stopped = daemons.iter().copied().find(|daemon| super::is_stopped(view, *daemon))?;
        let found = rules.explain(stopped);
        let because = format!("{} has a connection to it at {at}; {}", view.name(process.pid), found.because);
        return Some(found.because(because));
    }
    Some(asked(rules, process, &at, &daemons, view.after.queued.values().any(|listener| *listener == held)))
}

/// What daemons do that `pid` has asked, or those below them: of a process of the tree its finding has those in it.
pub fn does(rules: &mut Rules<'_, '_>, pid: Pid, daemons: &[Pid]) -> Option<Finding> {
    let view = rules.view;
    let ours = |other: &Pid| view.after.tree.contains_key(other);
    let others = view.after.processes().filter(|other| other.state != State::Zombie && other.pid != pid);
    let others = others.filter(|other| match ours(&other.pid) {
        true => daemons.contains(&other.pid) && !view.after.descends(pid, other.pid),
        false => daemons.iter().any(|daemon| !ours(daemon) && view.after.descends(other.pid, *daemon)),
    });
    // one that is being explained waits for this one
    let others: Vec<Pid> = others.map(|other| other.pid).filter(|other| !rules.doing.contains(other)).collect();
    best(others.into_iter().map(|other| rules.explain(other)).collect())
}

/// What those who are asked at an address do.
pub fn asked(rules: &mut Rules<'_, '_>, process: &Process, at: &str, daemons: &[Pid], is_queued: bool) -> Finding {
    let view = rules.view;
    let (pid, name, who) = (process.pid, view.name(process.pid), view.names(daemons));
    let age = view.age_ms(process);
    let found = does(rules, pid, daemons);
    let taken = if is_queued { ", which has not taken its connection yet" } else { "" };
    let text = format!("{name} waits for an answer of {who} at {at}{taken} (asked at most {} ago)", duration(age));
    match found {
        // what it waits for says more than that it is asked
        Some(found) if found.verdict == Verdict::Hung && found.rank >= rank::LIKELY => {
            let because = format!("{name} waits for an answer of {who} at {at}; {}", found.because);
            found.because(because)
        }
        Some(found) if daemons.is_empty() || found.verdict == Verdict::Working || found.rank >= rank::CLOCK => {
            let text = format!("{text}: {}", found.sentence);
            let ends = if found.ends.is_empty() { "its answer".to_owned() } else { found.ends };
            Finding::waiting(pid, Signature::Daemon, rank::CLOCK, text).ends(ends)
        }
        found => {
            let does = found.map(|found| format!(": {}", found.sentence)).unwrap_or_default();
            let ends = format!("its answer; from outside: {}", super::end_it(view, pid));
            let finding = Finding::hung(pid, Signature::PeerSilent, Mechanism::E2, format!("{text}{does}")).ends(ends);
            finding
                .because("for how long it has been asked cannot be seen, at most as long as the asker lives")
                .after(age, SILENT_MS)
        }
    }
}
