//! Pipes and Unix sockets between processes: an end that never comes, a reader that does not read.
//!
//! Invariant: a wait for a live descendant is explained by what that descendant waits for; only a holder that has
//! escaped makes the reader count as its hostage.

use super::{Rules, Wait, agent, best, daemon, end_it, fd_name, is_stopped, reads_now, steady, waits_for};
use crate::data::{Descriptor, End, Object, Pid, Process, TimeLimit};
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::waits::NO_END_MS;
use crate::diagnosis::ways;
use crate::diagnosis::{Sure, Verdict};
use crate::kind;
use rehang_hangs::{Mechanism, Signature};
use std::collections::BTreeSet;

/// A wait for input that is not standard input.
pub fn read(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, fd: &Descriptor) -> Option<Finding> {
    let view = rules.view;
    let pid = process.pid;
    if let Some(daemon) = daemon::end(view, fd) {
        return daemon::read(rules, process, wait, daemon);
    }
    let writers = view.other_end(process, fd, true);
    if let Some(path) = view.kept_open(process, fd).filter(|_| writers.is_empty()) {
        let ends_late = view.is_of_a_run(pid).then_some((Signature::OwnPipe, None, "nobody else has it open now"));
        return Some(commands(view, process, path, rank::IDLE, ends_late));
    }
    if view.writes_itself(process, fd) {
        return shared(view, process, fd, &writers);
    }
    // one that listens at its own end of a socket talks with the reader, as a server does that its client has started
    let talks = |writer: Pid| matches!(fd.what, Object::Socket { .. }) && reads_now(view, writer, fd);
    let is_stray = |writer: &Pid| escaped(view, process, *writer) && !talks(*writer);
    let strays: Vec<Pid> = writers.iter().copied().filter(is_stray).collect();
    let below: Vec<Pid> = writers
        .iter()
        .copied()
        .filter(|writer| !strays.contains(writer) && view.after.descends(*writer, pid))
        .collect();
    if !below.is_empty() {
        // who started one of them explains it too, and knows what else it waits for
        let all: BTreeSet<Pid> = below.iter().copied().collect();
        let is_explained = |child: Pid| view.ancestors(child).any(|above| all.contains(&above));
        let first = below.iter().filter(|child| !is_explained(**child));
        return best(first.map(|child| rules.explain(*child)).filter(|finding| finding.rank > rank::IDLE).collect());
    }
    if !strays.is_empty() {
        return Some(asking(view, pid, &writers, &strays).unwrap_or_else(|| hostage(view, process, fd, &strays)));
    }
    if wait.polled || writers.is_empty() {
        return None;
    }
    // a blocking read from a process that is neither below the reader nor a stray: that process explains it, unless it
    // waits for the reader
    if let Some(other) = writers.iter().copied().find(|writer| waits_for(view, *writer, pid).1) {
        let (name, other) = (view.name(pid), view.name(other));
        let text = format!("{name} and {other} wait for each other: each reads what the other would write");
        let ends = format!("one of them closes its end or ends: {}", end_it(view, pid));
        let finding = Finding::hung(pid, Signature::MutualWait, Mechanism::C6, text).ends(ends);
        let both = steady(view, process, wait);
        let finding = finding.because("neither call has a time limit, and only the other process can end it");
        return Some(if both { finding.certain() } else { finding });
    }
    let found = best(writers.iter().map(|writer| rules.explain(*writer)).collect())?;
    if found.verdict == Verdict::Hung && found.rank >= rank::LIKELY {
        return Some(found);
    }
    let text = format!("{} waits for what {} would write to {}", view.name(pid), view.names(&writers), fd_name(fd.fd));
    let above = view.ancestors(pid).any(|above| writers.contains(&above));
    let rank = if above { rank::BELOW } else { rank::IDLE + 1 };
    Some(
        Finding::waiting(pid, Signature::PipeRead, rank, text).ends(format!("{} writes or ends", view.names(&writers))),
    )
}

/// A wait for a line in a FIFO that its reader keeps open itself: anyone may open it. With a signature, a mechanism and a
/// reason it counts as hung once it has lasted for longer than anybody waits.
pub fn commands(
    view: &View<'_>,
    process: &Process,
    path: &str,
    rank: u8,
    hung: Option<(Signature, Option<Mechanism>, &str)>,
) -> Finding {
    let pid = process.pid;
    let text = format!("{} waits for a line in the FIFO {path}, which it keeps open itself", view.name(pid));
    let ends = format!("a line written to {path}");
    let Some((signature, mechanism, because)) = hung else {
        return Finding::waiting(pid, Signature::PipeRead, rank, text).ends(ends);
    };
    let finding = Finding::hung(pid, signature, mechanism, text).ends(ends).because(because);
    finding.after(view.age_ms(process), ways::LONG_MS)
}

/// A pipe of which the reader holds the other end too, as all others that have it: tokens are put back into it (the
/// jobserver of GNU make and cargo), so nobody in particular should write, and no end of it is waited for.
fn shared(view: &View<'_>, process: &Process, fd: &Descriptor, others: &[Pid]) -> Option<Finding> {
    if others.is_empty() {
        return None;
    }
    let pid = process.pid;
    let only_waits =
        |other: &Pid| view.process(*other).is_some_and(|other| super::run::vforked(view, other) == Some(pid));
    if others.iter().all(only_waits) {
        let text = format!("{} reads {}, to which nobody but itself could write", view.name(pid), fd_name(fd.fd));
        let because = format!("{} has it as well, and waits for it since it has called vfork", view.names(others));
        return Some(Finding::hung(pid, Signature::OwnPipe, None, text).ends(end_it(view, pid)).because(because));
    }
    let (name, others) = (view.name(process.pid), view.names(others));
    let text = format!("{name} waits for what {others} may put back into {}, a pipe that they share", fd_name(fd.fd));
    let finding =
        Finding::waiting(process.pid, Signature::SharedPipe, rank::IDLE, text).ends("one of them puts something back");
    Some(finding.because("it holds both ends itself"))
}

/// A reader that was awake at both looks: what it reads comes from the pipe that a stray writes to.
pub fn awake(view: &View<'_>, process: &Process) -> Option<Finding> {
    if view.io(process.pid).read_bytes == 0 {
        return None;
    }
    let writes = |writer: &Pid| view.io(*writer).written_bytes > 0 && escaped(view, process, *writer);
    let pipes = process.fds.iter().filter(|fd| matches!(fd.what, Object::Pipe { .. }) && fd.mode.has(End::Read));
    let (fd, strays) = pipes
        .map(|fd| (fd, view.other_end(process, fd, true).into_iter().filter(writes).collect::<Vec<Pid>>()))
        .find(|(_, strays)| !strays.is_empty())?;
    Some(Finding { sure: Sure::Likely, ..hostage(view, process, fd, &strays) })
}

/// Whether a writer was started below the reader and no longer belongs to it.
pub fn escaped(view: &View<'_>, process: &Process, writer: Pid) -> bool {
    let Some(other) = view.process(writer) else { return false };
    if view.ancestors(process.pid).any(|above| above == writer) || other.began_ns < process.began_ns {
        return false;
    }
    // a supervisor that reads this has started the roots, and adopts what outlives its parent below them
    let reader = &view.after.reader;
    let by_reader = reader.adopts && other.ppid == reader.pid && !view.after.roots.contains(&writer);
    let orphan = |process: &Process| {
        kind::adopted(process) || view.process(process.ppid).is_some_and(|parent| parent.ns_pid == 1)
    };
    // what is true of the reader as well, in the same group, says nothing: a pipeline in the background of a shell that is
    // gone
    let beside = (other.pgrp, other.session) == (process.pgrp, process.session);
    let adopted = (orphan(other) && !(beside && orphan(process))) || by_reader;
    let leaderless = !beside && (!other.group_led || !other.session_led);
    if view.after.descends(writer, process.pid) {
        // adopted by the reader itself (a subreaper), after its group's leader had ended
        return other.ppid == process.pid && leaderless && other.pgrp != process.pgrp;
    }
    // what its parent has started and kept in its own group is still at its command, such as a fork server's worker
    let is_kept = |parent: &Process| (other.pgrp, other.session) == (parent.pgrp, parent.session);
    let stranger = other.ppid != process.ppid
        && !view.ancestors(process.pid).any(|above| above == other.ppid)
        && !view.process(other.ppid).is_some_and(is_kept);
    adopted || leaderless || (stranger && view.after.tree.contains_key(&writer))
}

/// What an agent asks that escaped, or runs below what did.
fn asking(view: &View<'_>, reader: Pid, writers: &[Pid], strays: &[Pid]) -> Option<Finding> {
    let has_escaped = |writer: Pid| strays.iter().any(|stray| view.after.descends(writer, *stray));
    let mut asks = writers.iter().filter(|writer| has_escaped(**writer)).filter_map(|writer| view.process(*writer));
    let found = asks.find_map(|process| agent::says(view, process).filter(|found| found.verdict == Verdict::Hung))?;
    let because = format!("{}; {} reads its output to the end", found.because, view.name(reader));
    Some(found.because(because))
}

/// A wait for what is written at a terminal, by whoever holds the other side of it: a wrapper, a terminal emulator.
pub fn master(view: &View<'_>, process: &Process, fd: &Descriptor, index: u64) -> Option<Finding> {
    let writers: Vec<Pid> = view.at_terminal(index).filter(|pid| *pid != process.pid).collect();
    let all_escaped = !writers.is_empty() && writers.iter().all(|writer| escaped(view, process, *writer));
    all_escaped.then(|| hostage(view, process, fd, &writers))
}

pub fn hostage(view: &View<'_>, process: &Process, fd: &Descriptor, strays: &[Pid]) -> Finding {
    let (name, holders) = (view.name(process.pid), view.names(strays));
    let noisy = strays.iter().any(|stray| view.io(*stray).written_bytes > 0);
    let reads = fd_name(fd.fd);
    let (signature, mechanism) =
        if noisy { (Signature::StrayWritesPipe, Mechanism::B7) } else { (Signature::StrayHoldsPipe, Mechanism::B6) };
    let does = if noisy { "goes on writing to it" } else { "holds it open" };
    let text =
        format!("{name} reads {reads} to its end, but {holders}, which outlived the command that started it, {does}");
    let kills: Vec<String> = strays.iter().take(3).map(|stray| end_it(view, *stray)).collect();
    let ends = format!(
        "the end of {holders}: {}; next time, redirect both streams of what stays in the background",
        kills.join(", ")
    );
    let orphan = strays.iter().filter_map(|stray| view.process(*stray)).find(|stray| stray.ppid <= 1);
    let because = match orphan {
        Some(stray) => format!("{} holds the write end, its parent is gone (now {})", stray.pid, stray.ppid),
        None => "the holder's own parent, group or session leader is gone".to_owned(),
    };
    let finding = Finding::hung(process.pid, signature, mechanism, text).ends(ends).because(because).certain();
    // what has a timer, or works, may let go by itself
    let goes_on = |stray: &Pid| {
        let one = view.process(*stray).filter(|one| !super::run::follows(one))?;
        match ways::nap(view, one, process.pid).filter(ways::Way::is_soon) {
            Some(way) => Some((one, format!("has {}", way.words()))),
            None => noisy.then(|| (one, "is at work".to_owned())),
        }
    };
    let Some((stray, how)) = strays.iter().find_map(goes_on) else { return finding };
    let because = format!("{}; {} {how}, and may let go by itself", finding.because, view.name(stray.pid));
    let finding = Finding { sure: Sure::Likely, ..finding }.because(because).rank(rank::LIKELY);
    finding.after(view.age_ms(stray), ways::LONG_MS)
}

/// A wait for room.
pub fn write(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, fd: &Descriptor) -> Option<Finding> {
    let view = rules.view;
    let pid = process.pid;
    let readers = view.other_end(process, fd, false);
    if readers.is_empty() {
        return None;
    }
    let (name, what, who) = (view.name(pid), fd_name(fd.fd), view.names(&readers));
    let busy = readers.iter().any(|reader| rules.explain(*reader).verdict == Verdict::Working);
    if !steady(view, process, wait)
        || view.io(pid).written_bytes > 0
        || busy
        || readers.iter().any(|reader| reads_now(view, *reader, fd))
    {
        let text = format!("{name} writes to {what} as fast as {who} reads");
        return Some(Finding::waiting(pid, Signature::SlowReader, rank::CLOCK + 1, text).ends("the reader's pace"));
    }
    // a reader that sleeps for a time reads on after it
    if let Some(sleeper) = readers.iter().copied().find(|reader| sleeps(view, *reader)) {
        let naps = rules.explain(sleeper);
        if naps.verdict == Verdict::Hung {
            return Some(naps);
        }
        let text = format!("{name} writes to {what} as fast as {who} reads, and {} sleeps now", view.name(sleeper));
        return Some(Finding::waiting(pid, Signature::SlowReader, rank::CLOCK + 1, text).ends("the reader's pace"));
    }
    // a reader that waits for a person's key shows what it has read so far
    let at_key = |reader: &Pid| {
        let found = rules.explain(*reader);
        found.pid == *reader && matches!(found.signature, Signature::Pager | Signature::Editor | Signature::TtyRead)
    };
    if let Some(reader) = readers.iter().copied().find(at_key) {
        return Some(rules.explain(reader));
    }
    if let Some(stopped) = readers.iter().copied().find(|reader| is_stopped(view, *reader)) {
        return Some(rules.explain(stopped));
    }
    let ends = format!(
        "{who} reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: {}",
        end_it(view, pid)
    );
    let writes_back = readers.iter().copied().find(|reader| blocked_writing_to(view, *reader, pid));
    if let Some(other) = writes_back {
        let text = format!(
            "{name} and {} wait for each other: each writes to a full pipe that the other does not read",
            view.name(other)
        );
        let because = "both are in a write without a time limit on a pipe that the other holds";
        return Some(
            Finding::hung(pid, Signature::MutualPipe, Mechanism::C6, text).ends(ends).because(because).certain(),
        );
    }
    let listens = process.listening(&view.after.sockets).next().is_some();
    let (signature, mechanism) = match fd.fd {
        2 => (Signature::StderrUndrained, Mechanism::C1),
        _ if listens => (Signature::StdoutUndrained, Mechanism::C2),
        _ => (Signature::StdoutUndrained, Mechanism::C6),
    };
    let text = format!("{name} cannot write to {what}: the pipe is full, and {who} does not read it");
    let finding = Finding::hung(pid, signature, mechanism, text).ends(ends);
    if let Some(why) = readers.iter().find_map(|reader| does_first(rules, *reader, pid)) {
        let finding = finding.because(format!("{why}, and may read then")).rank(rank::CLOCK + 1);
        return Some(finding.after(view.age_ms(process), ways::LONG_MS));
    }
    let waiter = readers.iter().copied().find(|reader| waits_for(view, *reader, pid).0);
    Some(match waiter {
        Some(waiter) => {
            finding.because(format!("{}, who should read, waits for {name} elsewhere", view.name(waiter))).certain()
        }
        None => finding
            .because(format!("{} has been in {} throughout, and {who} did not read", pid, wait.call))
            .rank(rank::CERTAIN - 1),
    })
}

/// What a reader does before it reads on: it computes, waits for a child that goes on, or for a peer that takes nothing.
pub fn does_first(rules: &mut Rules<'_, '_>, reader: Pid, writer: Pid) -> Option<String> {
    let view = rules.view;
    let process = view.process(reader)?;
    // the children of a process around the tree are out of sight
    let waits_for_child = || view.waits(process).iter().any(|wait| matches!(wait.on, super::On::Child(_)));
    if process.has_unseen && !waits_for(view, reader, writer).0 && waits_for_child() {
        return Some(format!("{} waits for a child that is not in sight", view.name(reader)));
    }
    // one that moves bytes elsewhere could read as well
    let works = |process: &Process| {
        let computes = view.wants(process.pid) >= super::run::WORKS_SHARE;
        let found = super::run::rule(view, process).filter(|found| computes && found.verdict == Verdict::Working);
        found.map(|found| found.sentence)
    };
    if let Some(does) = works(process) {
        return Some(does);
    }
    if view.waits(process).iter().any(|wait| matches!(wait.on, super::On::Lock(_))) {
        let found = rules.explain(reader);
        return (found.verdict == Verdict::Waiting).then_some(found.sentence);
    }
    let is_full = |fd: &Descriptor| view.socket(fd).filter(|socket| socket.unsent > 0 && !socket.remote.is_empty());
    if let Some(socket) = process.fds.iter().find_map(is_full) {
        return Some(format!("{} has sent to {} what has not been taken yet", view.name(reader), socket.remote));
    }
    let children: Vec<&Process> = view.living_children(reader).collect();
    children.into_iter().find_map(|child| {
        let apart = child.pid != writer && !view.after.descends(writer, child.pid);
        if !apart || !waits_for(view, reader, child.pid).0 {
            return None;
        }
        if let Some(does) = works(child) {
            return Some(does);
        }
        let found = rules.explain(child.pid);
        let goes_on = matches!(found.verdict, Verdict::Working | Verdict::Waiting) && found.rank > rank::IDLE;
        goes_on.then_some(found.sentence)
    })
}

/// Whether a process is in a sleep that has an end, and in nothing else.
fn sleeps(view: &View<'_>, pid: Pid) -> bool {
    let Some(process) = view.process(pid) else { return false };
    let waits = view.waits(process);
    let sleep = |wait: &Wait| {
        let ends = matches!(wait.limit, TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) if ms < NO_END_MS);
        wait.on == super::On::Clock && !wait.polled && ends
    };
    !waits.is_empty() && waits.iter().all(sleep)
}

fn blocked_writing_to(view: &View<'_>, writer: Pid, reader: Pid) -> bool {
    let Some(process) = view.process(writer) else { return false };
    view.waits(process).iter().any(|wait| match wait.on {
        super::On::Output(fd) => process.fd(fd).is_some_and(|fd| {
            !matches!(fd.what, Object::Tty { .. }) && view.other_end(process, fd, false).contains(&reader)
        }),
        _ => false,
    })
}
