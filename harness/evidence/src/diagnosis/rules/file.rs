//! Files: locks that others hold, FIFOs without a partner, databases that are busy.
//!
//! Invariant: a lock's waiter is explained by its holder, and a holder that works makes it a mere wait.

use super::{On, Rules, Wait, end_it, steady, waits_for};
use crate::data::{Lock, Object, Pid, Process, Snapshot, State};
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::ways;
use crate::diagnosis::{Sure, Verdict};
use crate::kind;
use rehang_hangs::{Mechanism, Signature};

/// A wait for a lock on a file.
pub fn lock(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, fd: i32) -> Finding {
    let view = rules.view;
    let pid = process.pid;
    let path = path_of(process, fd);
    let name = view.name(pid);
    let Some(holder) = lock_holder(view, process, fd) else {
        let text = format!("{name} waits for the lock on {path}, which nobody in sight holds");
        let finding = Finding::hung(pid, Signature::FileLock, Mechanism::R2, text).ends("the holder lets it go");
        let finding = finding.because(format!("{} has no time limit", wait.call));
        // it may be on another machine or in another container, or be kept by a mapping or an io_uring: fcntl_locking(2), mmap(2)
        return finding.after(view.age_ms(process), ways::LONG_MS);
    };
    if holder == pid {
        let text = format!("{name} waits for the lock on {path}, which it holds itself by another descriptor");
        let finding = Finding::hung(pid, Signature::FileLock, Mechanism::R2, text).ends(end_it(view, pid));
        return finding.because("/proc/locks names it as holder and as waiter").certain();
    }
    let why = held_up(rules, holder, pid);
    let text = format!("{name} waits for the lock on {path}, which {} holds", view.name(holder));
    let seen = view.process(holder).filter(|holder| holder.fds_read);
    let naps = seen.and_then(|holder| ways::nap(view, holder, pid)).filter(ways::Way::is_soon);
    if why.verdict == Verdict::Working || works_below(rules, holder, pid) {
        return Finding::waiting(pid, Signature::LockWait, rank::CLOCK, format!("{text} while it works"))
            .ends("the holder's work");
    }
    if asks(view, holder, pid) && seen.is_some() && naps.is_none() {
        let text = format!("{text}; {} waits for {name} itself: they wait for each other", view.name(holder));
        let finding = Finding::hung(pid, Signature::MutualWait, Mechanism::C6, text).rank(rank::LIKELY);
        let because = "/proc/locks names both, and the holder waits for an answer of the one that waits for the lock";
        return finding.because(because).ends(end_it(view, holder));
    }
    let ends = format!("the end of what {} does", view.name(holder));
    if goes_on(&why) {
        let text = format!("{text}: {}", why.sentence);
        return Finding::waiting(pid, Signature::LockWait, rank::CLOCK, text).ends(ends);
    }
    if let Some(way) = naps {
        let text = format!("{text}; {} has {}: {}", view.name(holder), way.words(), why.sentence);
        // it may only tick while it waits for the one that waits for its lock: a build tool does, twice a second
        if asks(view, holder, pid) || view.after.descends(pid, holder) {
            let finding = Finding::hung(pid, Signature::FileLock, Mechanism::R2, text).rank(rank::CLOCK).ends(ends);
            let because = "/proc/locks names both; the one that waits is below the holder or is asked by it";
            return finding.because(because).after(view.age_ms(process), ways::LONG_MS);
        }
        return Finding::waiting(pid, Signature::LockWait, rank::CLOCK, text).ends(ends);
    }
    let copies = copies(view, process, fd, holder);
    let ends = match copies.as_slice() {
        [] => format!("{} lets it go or ends: {}", view.name(holder), end_it(view, holder)),
        copies => {
            let kills: Vec<String> = copies.iter().map(|copy| end_it(view, *copy)).collect();
            let (holder_, copies) = (view.name(holder), view.names(copies));
            format!(
                "{holder_} lets it go, or it ends and {copies}, which may have inherited the lock: {}, {}",
                end_it(view, holder),
                kills.join(", ")
            )
        }
    };
    if view.process(holder).is_some_and(|holder| !holder.fds_read) {
        let finding = Finding::unknown(pid, &format!("{text}; what that does may not be read"));
        return Finding { signature: Signature::FileLock, mechanism: Some(Mechanism::R2), ..finding }
            .ends(ends)
            .rank(rank::CLOCK);
    }
    let (mechanism, text) = match is_left_by_an_earlier_run(view, process, holder) {
        true => (Mechanism::H3, format!("{text}: the same program, left by a run that is over")),
        false => (Mechanism::R2, text),
    };
    let finding = Finding::hung(pid, Signature::FileLock, mechanism, text).ends(ends);
    let circle = waits_for(view, holder, pid).1;
    let does = if why.sentence.is_empty() { String::new() } else { format!("; the holder: {}", why.sentence) };
    let finding = finding.because(format!("/proc/locks names both{does}"));
    // outside of a run that should end, who waits for the lock is no worse than who holds it
    if why.verdict == Verdict::Waiting && !view.is_of_a_run(pid) && !circle {
        return Finding { verdict: Verdict::Waiting, hung_in_ms: why.hung_in_ms, ..finding };
    }
    // a holder that hangs never releases the lock; one that sleeps or waits may
    match why.verdict {
        _ if circle => finding.certain(),
        Verdict::Hung if steady(view, process, wait) && why.sure == Sure::Certain => finding.certain(),
        Verdict::Unknown => finding.after(view.age_ms(process), ways::LONG_MS),
        _ => finding,
    }
}

/// Whether a process waits on a connection for what another one says, which holds its other end, and for nothing else.
fn asks(view: &View<'_>, asker: Pid, asked: Pid) -> bool {
    let Some(process) = view.process(asker) else { return false };
    let is_of = |wait: &Wait| {
        let On::Input(fd) = wait.on else { return false };
        let peer = process.fd(fd).and_then(|fd| view.socket(fd)).and_then(|socket| socket.peer);
        peer.is_some_and(|peer| view.after.socket_holders(peer).any(|(holder, _)| holder.pid == asked))
    };
    let waits = view.waits(process);
    waits.iter().any(is_of)
        && waits.iter().all(|wait| is_of(wait) || wait.on == On::Futex || (wait.polled && wait.on == On::Clock))
}

/// Whether a holder is what the waiter is, started by somebody who is gone: a tool server, say, that outlived the run
/// which started it. A service that was started by a hand of its own has other arguments than its clients.
fn is_left_by_an_earlier_run(view: &View<'_>, waiter: &Process, holder: Pid) -> bool {
    let same = |holder: &&Process| !holder.args.is_empty() && holder.args == waiter.args;
    view.process(holder).filter(same).is_some_and(|holder| kind::adopted(holder) && !kind::adopted(waiter))
}

/// Who holds the lock that a process waits for on a descriptor: whose open file has it now, else who took it.
pub fn lock_holder(view: &View<'_>, process: &Process, fd: i32) -> Option<Pid> {
    let (locks, pid) = (&view.after.locks, process.pid);
    let file = match process.fd(fd).map(|fd| &fd.what) {
        Some(Object::File { inode, .. }) => *inode,
        _ => 0,
    };
    let has_it = |one: &&Process| {
        let is_it =
            |fd: &i32| matches!(one.fd(*fd).map(|fd| &fd.what), Some(Object::File { inode, .. }) if *inode == file);
        one.state != State::Zombie && one.locked_fds.iter().any(is_it)
    };
    let mut holders = view.after.processes().filter(has_it).filter(|one| one.pid != pid);
    // of several copies of one open file the one that will not wait for it decides
    if let Some(holder) = holders.find(|one| !waits_for_lock(view, one.pid, file)) {
        return Some(holder.pid);
    }
    let ours = locks.iter().find(|lock| lock.waits && lock.pid == Some(pid) && (file == 0 || lock.inode == file));
    let id = ours.map(|lock| lock.id);
    let held = locks.iter().find(|lock| !lock.waits && (Some(lock.id) == id || (id.is_none() && lock.inode == file)));
    held.and_then(|lock| holder(view, lock, pid))
}

/// What a holder does, or, if it merely waits for processes below it, what they do; without the waiter.
fn held_up(rules: &mut Rules<'_, '_>, holder: Pid, waiter: Pid) -> Finding {
    let own = rules.explain(holder);
    if own.rank > rank::IDLE {
        return own;
    }
    let children = below(rules.view.after, holder, waiter);
    children
        .into_iter()
        .map(|pid| rules.explain(pid))
        .fold(own, |best, next| if next.rank > best.rank { next } else { best })
}

/// Whether what a holder waits for goes on by itself: a peer that was heard of within the limit, a device, a loop that has not
/// tried for longer than anybody waits.
fn goes_on(why: &Finding) -> bool {
    const LIVES: [Signature; 8] = [
        Signature::PeerTalks,
        Signature::PeerKeepalive,
        Signature::PeerWait,
        Signature::Connecting,
        Signature::Disk,
        Signature::SlowReader,
        Signature::LockWait,
        Signature::TriesAgain,
    ];
    why.verdict == Verdict::Waiting && LIVES.contains(&why.signature)
}

/// Whether a process below a holder works, the waiter excepted: a build's own process waits for its compilers.
fn works_below(rules: &mut Rules<'_, '_>, holder: Pid, waiter: Pid) -> bool {
    let view = rules.view;
    let (before, after) = (below(view.before, holder, waiter), below(view.after, holder, waiter));
    before != after || after.into_iter().any(|pid| rules.explain(pid).verdict == Verdict::Working)
}

fn below(snapshot: &Snapshot, holder: Pid, waiter: Pid) -> Vec<Pid> {
    let living = snapshot.processes().filter(|process| process.state != State::Zombie && process.pid != holder);
    living
        .map(|process| process.pid)
        .filter(|pid| snapshot.descends(*pid, holder) && !snapshot.descends(*pid, waiter))
        .collect()
}

/// Who holds a lock: who took it, or, if that process has ended, who still has the file open.
fn holder(view: &View<'_>, lock: &Lock, waiter: Pid) -> Option<Pid> {
    let lives = |pid: &Pid| view.process(*pid).is_some_and(|process| process.state != State::Zombie);
    if let Some(pid) = lock.pid.filter(lives) {
        return Some(pid);
    }
    let is_free = |pid: &Pid| *pid != waiter && !waits_for_lock(view, *pid, lock.inode);
    have_open(view, lock.inode).find(is_free)
}

fn have_open<'a>(view: &View<'a>, file: u64) -> impl Iterator<Item = Pid> + 'a {
    let open = move |process: &&Process| {
        process.fds.iter().any(|fd| matches!(fd.what, Object::File { inode, .. } if inode == file))
    };
    view.after.processes().filter(open).map(|process| process.pid)
}

fn waits_for_lock(view: &View<'_>, pid: Pid, file: u64) -> bool {
    view.after.locks.iter().any(|lock| lock.waits && lock.pid == Some(pid) && lock.inode == file)
}

/// Who else may hold a lock that belongs to an open file, since it was started by the holder with that file open.
fn copies(view: &View<'_>, waiter: &Process, fd: i32, holder: Pid) -> Vec<Pid> {
    let Some(Object::File { inode, .. }) = waiter.fd(fd).map(|fd| &fd.what) else { return Vec::new() };
    let inherits =
        |lock: &Lock| !lock.waits && lock.inode == *inode && ["FLOCK", "OFDLCK"].contains(&lock.kind.as_str());
    if !view.after.locks.iter().any(inherits) {
        return Vec::new();
    }
    let of_holder =
        |pid: &Pid| *pid != holder && view.after.descends(*pid, holder) && !waits_for_lock(view, *pid, *inode);
    have_open(view, *inode).filter(of_holder).collect()
}

/// The path of a descriptor's file.
pub fn path_of(process: &Process, fd: i32) -> String {
    match process.fd(fd).map(|fd| &fd.what) {
        Some(Object::File { path, .. }) => path.clone(),
        _ => format!("descriptor {fd}"),
    }
}

/// A FIFO that has nobody at its other end.
pub fn open(view: &View<'_>, process: &Process, wait: &Wait, path: Option<&str>, fifo: bool) -> Option<Finding> {
    if !fifo {
        return None;
    }
    let pid = process.pid;
    let path = path.map_or_else(|| "a FIFO".to_owned(), |path| format!("the FIFO {path}"));
    let call = process.threads.iter().find(|thread| thread.tid == wait.tid).and_then(|thread| thread.call.as_ref());
    let flags = call.map_or(0, |call| if call.name == "open" { call.args[1] } else { call.args[2] });
    // openat2 has its flags in memory: then the common case is reported
    let writes = call.is_some_and(|call| call.name != "openat2") && flags & 3 == 1;
    let missing = if writes { "nobody opens it to read" } else { "nobody opens it to write" };
    let text = format!("{} opens {path}, and {missing}", view.name(pid));
    let ends = format!("somebody opens its other end; from outside: {}", end_it(view, pid));
    let finding = Finding::hung(pid, Signature::FifoOpen, Mechanism::B12, text).ends(ends);
    let finding = finding.because("opening a FIFO waits for a partner, without a time limit");
    // outside of a run that should end, the partner may come by design
    Some(match view.is_of_a_run(pid) {
        true if steady(view, process, wait) => finding.certain(),
        true => finding,
        false => {
            let because = format!("{}; no agent runs it, and its partner may come by design", finding.because);
            Finding { verdict: Verdict::Waiting, ..finding.because(because) }
        }
    })
}

/// A nap while another process holds a lock on a database that this one has open: SQLite's busy handler sleeps like
/// this. It looks like any sleep; only the lock tells.
pub fn sqlite(rules: &mut Rules<'_, '_>, process: &Process) -> Option<Finding> {
    let view = rules.view;
    let pid = process.pid;
    let (path, lock) = process.fds.iter().find_map(|fd| {
        let Object::File { path, inode, .. } = &fd.what else { return None };
        let of_it = |lock: &&Lock| lock.inode == *inode && !lock.waits && lock.kind != "FLOCK";
        // who writes waits for those that read
        let writes = view.after.locks.iter().filter(of_it).any(|lock| lock.write && lock.pid == Some(pid));
        let blocks = |lock: &&Lock| {
            let taken = lock.pid.is_some_and(|holder| holder != pid);
            of_it(lock) && (lock.write || writes) && taken
        };
        let lock = view.after.locks.iter().find(blocks)?;
        (kind::is_database(path) || kind::OF_A_DATABASE.contains(&lock.from)).then_some(())?;
        Some((path, lock))
    })?;
    let before =
        view.before.locks.iter().any(|other| other.inode == lock.inode && other.pid == lock.pid && !other.waits);
    let holder = lock.pid.filter(|_| before)?;
    let why = held_up(rules, holder, pid);
    let (name, other) = (view.name(pid), view.name(holder));
    let text = format!("{name} waits for the database {path}, which {other} has locked");
    if why.verdict == Verdict::Working || works_below(rules, holder, pid) {
        return Some(
            Finding::waiting(pid, Signature::LockWait, rank::CLOCK, format!("{text} while it works"))
                .ends("the holder's work"),
        );
    }
    let naps = view.process(holder).and_then(|holder| ways::nap(view, holder, pid)).filter(ways::Way::is_soon);
    if let Some(way) = naps {
        let text = format!("{text}; {other} has {}", way.words());
        return Some(
            Finding::waiting(pid, Signature::LockWait, rank::CLOCK, text).ends(format!("the end of what {other} does")),
        );
    }
    let finding = Finding::hung(pid, Signature::SqliteLock, Mechanism::R1, text);
    let because = format!(
        "it naps with the database open, and /proc/locks names {holder} for bytes {} on; the holder: {}",
        lock.from, why.sentence
    );
    Some(finding.because(because).ends(format!("{other} ends its transaction: {}", end_it(view, holder))))
}
