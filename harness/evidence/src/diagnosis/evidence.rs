//! The evidence: the tree as it is, with what each process waits for.
//!
//! Invariant: everything that a sentence claims can be found here.

use super::Evidence;
use super::rules::{fd_name, left};
use super::view::View;
use super::waits::{On, Wait};
use crate::data::{Descriptor, Object, Pid, Process, Signals, State};
use rehang_words::text::{counted_as, duration};
use std::collections::BTreeSet;

/// The most waits of one process that are listed.
const MAX_WAITS: usize = 12;

/// The most ended children of one process that are listed beside the answer.
const MAX_ZOMBIES: usize = 4;

/// The roots with the way to `subject`, and whom the subject shares something with.
pub fn tree(view: &View<'_>, subject: Pid) -> Vec<Evidence> {
    let mut wanted: BTreeSet<Pid> = view.ancestors(subject).collect();
    wanted.insert(subject);
    let mut trees: Vec<Evidence> =
        view.after.roots.iter().filter_map(|root| branch(view, *root, Some(&wanted), 0)).collect();
    if !view.after.tree.contains_key(&subject) {
        trees.extend(branch(view, subject, Some(&wanted), 0));
    }
    trees
}

/// The whole tree.
pub fn whole(view: &View<'_>) -> Vec<Evidence> {
    view.after.roots.iter().filter_map(|root| branch(view, *root, None, 0)).collect()
}

fn branch(view: &View<'_>, pid: Pid, wanted: Option<&BTreeSet<Pid>>, depth: usize) -> Option<Evidence> {
    let process = view.process(pid)?;
    let mut node = Evidence { text: head(view, process), below: details(view, process) };
    if depth < 64 {
        let (mut told, mut left_out, mut zombies) = (Vec::new(), 0, 0);
        for child in view.after.children(pid) {
            // a process that has ended gets a line, since it may be the reason
            let ended = child.state == State::Zombie && zombies < MAX_ZOMBIES;
            zombies += usize::from(ended);
            match wanted {
                Some(wanted) if !wanted.contains(&child.pid) && !ended => left_out += 1,
                _ => told.extend(branch(view, child.pid, wanted, depth + 1)),
            }
        }
        node.below.extend(told);
        if left_out > 0 {
            node.below.push(Evidence {
                text: format!("{} (--tree shows them)", counted_as(left_out, "more child", "more children")),
                below: Vec::new(),
            });
        }
    }
    Some(node)
}

fn head(view: &View<'_>, process: &Process) -> String {
    let state = match process.state {
        State::Running => "runs",
        State::Sleeping => "sleeps",
        State::Disk => "waits for a device",
        State::Stopped => "is stopped",
        State::Traced => "is traced",
        State::Zombie => "has ended, unreaped",
        State::Other => "is in no usual state",
    };
    let cpu = (view.cpu(process.pid) * 100.0).round();
    let age = view.after.at_ns.saturating_sub(process.began_ns) / 1_000_000;
    let command: String = process.args.join(" ").chars().take(100).collect();
    let command = if command.is_empty() { String::new() } else { format!(": {command}") };
    format!("{} {state}, {cpu} % of a core, {} old{command}", view.name(process.pid), duration(age))
}

fn details(view: &View<'_>, process: &Process) -> Vec<Evidence> {
    let mut lines: Vec<String> = Vec::new();
    for (text, threads) in grouped(view, process).into_iter().take(MAX_WAITS) {
        let threads = if threads > 1 { format!("{threads} threads: ") } else { String::new() };
        lines.push(format!("{threads}{text}"));
    }
    for record in view.after.agents.iter().filter(|agent| agent.pid == process.pid) {
        for ask in &record.asks {
            lines.push(format!("open {} {}: {}", ask.kind, ask.id, ask.text));
        }
        for source in &record.sources {
            lines.push(format!("read from {source}"));
        }
    }
    if Signals::has(process.signals.ignored, libc::SIGTERM) {
        lines.push("ignores SIGTERM".to_owned());
    }
    if process.state == State::Stopped && process.tty != 0 {
        lines.push(format!("its group is {}, its terminal's foreground group {}", process.pgrp, process.tty_group));
    }
    lines.into_iter().map(|text| Evidence { text, below: Vec::new() }).collect()
}

/// The waits of all threads in words, equal ones counted, in the order of threads.
fn grouped(view: &View<'_>, process: &Process) -> Vec<(String, usize)> {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for wait in view.waits(process) {
        let Some(text) = words(view, process, &wait) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => groups.push((text, 1)),
        }
    }
    groups
}

fn words(view: &View<'_>, process: &Process, wait: &Wait) -> Option<String> {
    let limit = left(wait.limit).map(|left| format!(", {left}")).unwrap_or_default();
    let call = &wait.call;
    let inferred = if wait.inferred { " (inferred from the kernel's function)" } else { "" };
    let text = match &wait.on {
        On::Input(fd) => format!("{call} waits for input on {}", descriptor(view, process, *fd, true)),
        On::Output(fd) => format!("{call} waits for room on {}", descriptor(view, process, *fd, false)),
        On::Child(child) if *child > 0 => format!("{call} waits for child {child}"),
        On::Child(_) => format!("{call} waits for any child"),
        On::Futex => format!("{call} waits for another thread{limit}"),
        On::Clock if wait.polled && limit.is_empty() => return None,
        On::Clock => format!("{call}{limit}"),
        On::Lock(fd) => format!("{call} waits for a lock on {}", descriptor(view, process, *fd, true)),
        On::Open { path, .. } => format!("{call} opens {}", path.as_deref().unwrap_or("a FIFO")),
        On::Connect(fd) => format!("{call} waits for a connection on {}", descriptor(view, process, *fd, true)),
        On::Signal => format!("{call} waits for a signal{limit}"),
        On::Ioctl { fd, request } => format!("{call} {request:#x} on {}", descriptor(view, process, *fd, true)),
        On::Hidden if call.is_empty() => {
            format!("system call {}: what it waits for is not known", number(process, wait))
        }
        On::Hidden => format!("{call}: what it waits for is not known"),
    };
    // what a process says to itself is noise
    let internal = match wait.on {
        On::Input(fd) | On::Output(fd) => process.fd(fd).is_some_and(|fd| internal(view, process, fd)),
        _ => false,
    };
    (!(internal && wait.polled)).then(|| format!("{text}{inferred}"))
}

fn number(process: &Process, wait: &Wait) -> i64 {
    let thread = process.threads.iter().find(|thread| thread.tid == wait.tid);
    thread.and_then(|thread| thread.call.as_ref()).map_or(-1, |call| call.number)
}

fn internal(view: &View<'_>, process: &Process, fd: &Descriptor) -> bool {
    matches!(fd.what, Object::Event { .. } | Object::Signal | Object::Children | Object::Null)
        || (fd.fd > 2 && view.own_channel(process, fd))
}

/// `descriptor 3, pipe 4711 (cat (12) writes)`.
fn descriptor(view: &View<'_>, process: &Process, number: i32, reads: bool) -> String {
    let name = fd_name(number).replace("its ", "");
    let Some(fd) = process.fd(number) else { return name };
    let others = view.other_end(process, fd, reads);
    let others = |nobody: &str| match others.is_empty() {
        true if reads && view.writes_itself(process, fd) => "itself".to_owned(),
        true => nobody.to_owned(),
        false => view.names(&others),
    };
    match &fd.what {
        Object::Pipe { inode } => format!("{name}, pipe {inode}, other end: {}", others("nobody in sight")),
        Object::Fifo { path, .. } => format!("{name}, FIFO {path}, other end: {}", others("nobody in sight")),
        Object::Tty { path, .. } => format!("{name}, terminal {path}, other side: {}", others("nobody in sight")),
        Object::Socket { inode } => match view.after.sockets.get(inode) {
            Some(socket) if !socket.remote.is_empty() => {
                let silent =
                    socket.traffic.map(|traffic| format!(", silent for {}", duration(traffic.since_received_ms)));
                format!("{name}, connection {} to {}{}", socket.local, socket.remote, silent.unwrap_or_default())
            }
            Some(socket) if socket.peer.is_none() && !socket.local.is_empty() => {
                format!("{name}, socket at {}", socket.local)
            }
            _ => format!("{name}, socket {inode}, other end: {}", others("nobody in sight")),
        },
        Object::File { path, .. } => format!("{name}, {path}"),
        Object::Timer { left_ms: Some(left) } => format!("{name}, timer in {}", duration(*left)),
        Object::Timer { left_ms: None } => format!("{name}, a timer that is off"),
        Object::Process { pid } => format!("{name}, end of {}", view.name(*pid)),
        Object::Inotify => format!("{name}, changes of files"),
        _ => name,
    }
}
