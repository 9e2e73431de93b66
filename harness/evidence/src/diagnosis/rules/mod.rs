//! The rules: what a process waits for, and through it the processes that it waits for.
//!
//! Invariant: every process is explained once; a process that is reached again while it is being explained closes a
//! circle, and the rule that reached it reports the circle.

mod agent;
mod daemon;
pub mod file;
mod loops;
mod network;
mod pipe;
mod rest;
pub mod run;
mod server;
mod stdin;
mod stop;
mod terminal;

pub use agent::{prompted, route};
pub use network::awaits_answer;
pub use pipe::escaped;
pub use stdin::without_input;

use super::Verdict;
use super::finding::{Finding, rank};
use super::view::View;
use super::waits::{On, Wait};
use crate::data::{Descriptor, Mode, Object, Pid, Process, State, TimeLimit};
use rehang_hangs::Signature;
use rehang_words::text::duration;
use std::collections::{BTreeMap, BTreeSet};

/// How deep processes are followed: no healthy tree comes near.
const MAX_DEPTH: usize = 64;

/// The finding that counts for a process and all that it waits for.
pub fn explain(view: &View<'_>, pid: Pid) -> Finding {
    let mut rules = Rules { view, done: BTreeMap::new(), doing: BTreeSet::new() };
    rules.explain(pid)
}

/// The rules at work.
pub struct Rules<'v, 'a> {
    pub view: &'v View<'a>,
    done: BTreeMap<Pid, Finding>,
    doing: BTreeSet<Pid>,
}

impl<'a> Rules<'_, 'a> {
    /// The finding of a process.
    pub fn explain(&mut self, pid: Pid) -> Finding {
        if let Some(done) = self.done.get(&pid) {
            return done.clone();
        }
        if self.doing.contains(&pid) || self.doing.len() >= MAX_DEPTH {
            return Finding::unknown(pid, "waits in a circle");
        }
        let Some(process) = self.view.process(pid) else { return Finding::unknown(pid, "is gone") };
        // what it does is this very look
        if pid == self.view.after.reader.pid {
            let text = format!("{} looks", self.view.name(pid));
            return Finding::waiting(pid, Signature::ThisLook, rank::IDLE, text).ends("the end of this look");
        }
        self.doing.insert(pid);
        let finding = self.of(process);
        self.doing.remove(&pid);
        self.done.insert(pid, finding.clone());
        finding
    }

    fn of(&mut self, process: &'a Process) -> Finding {
        let view = self.view;
        if let Some(finding) = stop::rule(view, process) {
            // who traces it may hang itself
            let tracer = Some(process.tracer).filter(|tracer| process.state == State::Traced && *tracer > 0);
            let tracer = tracer.map(|tracer| self.explain(tracer)).filter(|tracer| tracer.verdict == Verdict::Hung);
            return match tracer {
                Some(tracer) => {
                    let because = format!("{}; {}", finding.sentence, tracer.because);
                    tracer.because(because)
                }
                None => finding,
            };
        }
        if let Some(finding) = agent::says(view, process) {
            return finding;
        }
        let mut found: Vec<Finding> = run::rule(view, process).into_iter().chain(server::rule(view, process)).collect();
        if let Some(child) = run::vforked(view, process) {
            found.push(self.explain(child));
        }
        if process.state == State::Disk {
            // a busy handler that was caught at its file
            found.extend(file::sqlite(self, process));
        }
        let all = view.waits(process);
        for wait in &all {
            let finding = match &wait.on {
                On::Input(fd) => process.fd(*fd).and_then(|fd| self.input(process, wait, fd)),
                On::Output(fd) => process.fd(*fd).and_then(|fd| self.output(process, wait, fd)),
                On::Lock(fd) => Some(file::lock(self, process, wait, *fd)),
                On::Open { path, fifo } => file::open(view, process, wait, path.as_deref(), *fifo),
                On::Clock if !wait.polled => {
                    Some(file::sqlite(self, process).unwrap_or_else(|| run::clock(view, process, wait)))
                }
                On::Ioctl { fd, request } => terminal::ioctl(self, process, wait, *fd, *request),
                _ => None,
            };
            found.extend(finding);
        }
        if all.is_empty() {
            found.extend(pipe::awake(view, process));
        }
        found.extend(network::rule(self, process, &all));
        found.extend(network::stuck(view, process, &all));
        let serves = network::serves(view, process, &all);
        if let Some(serves) = serves.clone().filter(|_| !network::owes(view, process)) {
            // what a server listens to beside its requests, and what it keeps for them, is no hang of its own
            let beside = |finding: &Finding| {
                let lasts = finding.verdict == Verdict::Hung || finding.hung_in_ms.is_some();
                (lasts || finding.signature == Signature::PeerSilent) && finding.rank <= rank::SILENT
            };
            let (others, kept): (Vec<Finding>, Vec<Finding>) = found.into_iter().partition(beside);
            found = kept;
            found.extend(others.first().map(|other| network::serves_beside(serves, other)));
        }
        found.extend(loops::rule(view, process));
        found.extend(agent::owes_answer(view, process, &all));
        found.extend(agent::lingers(view, process, &all));
        found.extend(agent::mute_server(view, process));
        for child in view.living_children(process.pid) {
            found.push(match child.pid == view.after.reader.pid {
                true => run::this_look(view, process, child.pid),
                false => self.explain(child.pid),
            });
        }
        beside(view, process, &mut found);
        let best = best(found);
        // no other process can end a read of a pipe of its own; a child that it has forgotten is not why it waits
        if serves.is_none()
            && run::only_its_own(view, process, &all).is_none()
            && best.as_ref().is_none_or(|best| stop::may_be_for_a_zombie(view, process, best))
            && let Some(zombie) = stop::unreaped(view, process, &all)
        {
            return zombie;
        }
        match best {
            Some(best) if best.rank > rank::IDLE => best,
            // children that idle by design explain little: what the process itself is counts first
            other => {
                let rest = self.rest(process, &all, serves);
                other.filter(|other| other.rank > rest.rank).unwrap_or(rest)
            }
        }
    }

    fn input(&mut self, process: &'a Process, wait: &Wait, fd: &'a Descriptor) -> Option<Finding> {
        match &fd.what {
            Object::Tty { .. } => terminal::read(self.view, process, wait, fd),
            Object::Master { index } => pipe::master(self.view, process, fd, *index),
            Object::Pipe { .. } | Object::Fifo { .. } => self.channel(process, wait, fd),
            Object::Socket { .. } => {
                let socket = self.view.socket(fd)?;
                let is_queued = self.view.after.queued.contains_key(&socket.inode);
                (socket.family == crate::data::Family::Unix && (socket.peer.is_some() || is_queued))
                    .then(|| self.channel(process, wait, fd))
                    .flatten()
            }
            _ => None,
        }
    }

    fn channel(&mut self, process: &'a Process, wait: &Wait, fd: &'a Descriptor) -> Option<Finding> {
        if is_stdin(process, fd) { stdin::rule(self, process, wait, fd) } else { pipe::read(self, process, wait, fd) }
    }

    fn output(&mut self, process: &'a Process, wait: &Wait, fd: &'a Descriptor) -> Option<Finding> {
        match &fd.what {
            Object::Tty { .. } => terminal::write(self, process, wait, fd),
            Object::Pipe { .. } | Object::Fifo { .. } => pipe::write(self, process, wait, fd),
            Object::Socket { .. } => {
                let socket = self.view.socket(fd)?;
                let full = socket.family == crate::data::Family::Unix && (socket.unsent > 0 || !wait.polled);
                full.then(|| pipe::write(self, process, wait, fd)).flatten()
            }
            _ => None,
        }
    }

    /// Nothing that matters is waited for: the rest, by what kind of process it is.
    fn rest(&mut self, process: &'a Process, all: &[Wait], serves: Option<Finding>) -> Finding {
        let view = self.view;
        let pid = process.pid;
        // it was seen awake between two naps of a busy handler
        if all.is_empty()
            && let Some(finding) = file::sqlite(self, process)
        {
            return finding;
        }
        if let Some(finding) = agent::endless_command(self, process) {
            return finding;
        }
        if let Some(finding) = agent::idle(view, process, all).or(serves) {
            return finding;
        }
        if let Some(child) = view.living_children(pid).next() {
            // any child that is understood has given its finding by now
            let text = format!("{} waits for {}, which lives", view.name(pid), view.name(child.pid));
            let why = self.explain(child.pid).sentence;
            let finding = Finding::unknown(pid, &text).rank(rank::UNKNOWN + 1).because(why);
            return Finding { signature: Signature::LiveChild, ..finding }.ends("the child's end");
        }
        run::rest(view, process, all)
    }
}

/// Takes the rank from what a process does not wait for: of an agent whose model owes it an answer, a command that it has
/// forgotten; a child that sleeps for ever (`sleep infinity`) beside something else that goes on, by which its parent
/// would end it.
fn beside(view: &View<'_>, process: &Process, found: &mut [Finding]) {
    let is_agent = view.agent(process.pid).is_some();
    let asks = is_agent && network::awaits_outside(view, process);
    let sleeps = |finding: &Finding| finding.signature == Signature::NeverEnds && finding.pid != process.pid;
    let goes_on = |finding: &Finding| {
        let works = matches!(finding.verdict, Verdict::Working | Verdict::Waiting) && finding.rank >= rank::SILENT;
        works && !sleeps(finding)
    };
    let lives = !is_agent && found.iter().any(goes_on);
    let elsewhere = |pid: Pid| {
        let waits = view.waits(process);
        // an event loop is told of its children by a channel of its own
        let is_held_up = |wait: &Wait| {
            !wait.polled && matches!(wait.on, On::Lock(_) | On::Input(_) | On::Output(_) | On::Connect(_) | On::Hidden)
        };
        !is_agent && !waits_for(view, process.pid, pid).0 && waits.iter().any(is_held_up)
    };
    for finding in found.iter_mut().filter(|finding| finding.pid != process.pid) {
        let is_forgotten = asks && finding.verdict == Verdict::Hung;
        if is_forgotten || (sleeps(finding) && (lives || elsewhere(finding.pid))) {
            finding.rank = rank::IDLE;
        }
    }
}

/// The first of those with the highest rank.
fn best(found: Vec<Finding>) -> Option<Finding> {
    found.into_iter().reduce(|best, next| if next.rank > best.rank { next } else { best })
}

/// Whether a descriptor is a process's standard input, or a copy of it.
pub fn is_stdin(process: &Process, fd: &Descriptor) -> bool {
    process.fd(0).is_some_and(|zero| same(&zero.what, &fd.what))
}

/// Whether two descriptors are the same pipe or socket.
pub fn same(a: &Object, b: &Object) -> bool {
    match (a, b) {
        (
            Object::Pipe { inode: a } | Object::Fifo { inode: a, .. },
            Object::Pipe { inode: b } | Object::Fifo { inode: b, .. },
        ) => a == b,
        (Object::Socket { inode: a }, Object::Socket { inode: b }) => a == b,
        _ => false,
    }
}

/// Whether a thread was in the same wait in both snapshots, and on no processor between them.
pub fn steady(view: &View<'_>, process: &Process, wait: &Wait) -> bool {
    let same = view
        .before
        .process(process.pid)
        .is_some_and(|before| view.waits(before).iter().any(|other| other.tid == wait.tid && other.on == wait.on));
    same && (wait.polled || view.switches(process.pid, wait.tid) == 0)
}

/// Whether a descriptor that is watched for input is the writer's end of a pipe: what comes there is its reader's end (the
/// event loop of Python's asyncio watches its processes' stdin so).
pub fn watches_reader(fd: &Descriptor) -> bool {
    matches!(fd.what, Object::Pipe { .. } | Object::Fifo { .. }) && fd.mode == Mode::Write
}

/// Whether `waiter` waits for `for_whom`: for its end, or for what it would write or read. The second value: whether
/// none of its threads waits for anything else.
pub fn waits_for(view: &View<'_>, waiter: Pid, for_whom: Pid) -> (bool, bool) {
    let Some(process) = view.process(waiter) else { return (false, false) };
    let (mut any, mut firm, mut only) = (false, false, true);
    for wait in view.waits(process) {
        let hit = match &wait.on {
            On::Child(child) => view.process(for_whom).is_some_and(|other| {
                other.ppid == waiter && (*child <= 0 || *child == other.pid || *child == other.ns_pid)
            }),
            On::Input(fd) | On::Output(fd) => process.fd(*fd).is_some_and(|descriptor| {
                let reads = matches!(wait.on, On::Input(_)) && !watches_reader(descriptor);
                matches!(descriptor.what, Object::Process { pid } if pid == for_whom)
                    || view.other_end(process, descriptor, reads).contains(&for_whom)
            }),
            _ => false,
        };
        any |= hit;
        // the end of another child would do as well
        let is_any = matches!(wait.on, On::Child(child) if child <= 0)
            && view.after.children(waiter).any(|child| child.pid != for_whom && child.state != State::Zombie);
        // one thread that waits for another is not on its own
        firm |= hit && !wait.polled;
        only &= (hit && !is_any) || wait.on == On::Futex || rests(view, process, &wait);
    }
    (any, firm && only)
}

/// Whether this is what an event loop waits for that has nothing to do: its own channel, and no time.
fn rests(view: &View<'_>, process: &Process, wait: &Wait) -> bool {
    wait.polled
        && match wait.on {
            On::Clock => wait.limit == TimeLimit::Never,
            On::Input(fd) => process.fd(fd).is_some_and(|fd| match fd.what {
                Object::Event { .. } => true,
                _ => fd.fd > 2 && view.own_channel(process, fd),
            }),
            _ => false,
        }
}

/// Whether a process is in a call that reads the channel now.
pub fn reads_now(view: &View<'_>, reader: Pid, channel: &Descriptor) -> bool {
    let Some(process) = view.process(reader) else { return false };
    view.waits(process).iter().any(|wait| match wait.on {
        On::Input(fd) => process.fd(fd).is_some_and(|fd| same(&fd.what, &channel.what) || peers(view, fd, channel)),
        _ => false,
    })
}

fn peers(view: &View<'_>, a: &Descriptor, b: &Descriptor) -> bool {
    match (view.socket(a), view.socket(b)) {
        (Some(a), Some(b)) => a.peer == Some(b.inode),
        _ => false,
    }
}

/// Whether a process is stopped.
pub fn is_stopped(view: &View<'_>, pid: Pid) -> bool {
    view.process(pid).is_some_and(|process| matches!(process.state, State::Stopped | State::Traced))
}

/// How long a wait may still take, in words; `None` if it has no end.
pub fn left(limit: TimeLimit) -> Option<String> {
    match limit {
        TimeLimit::GivenMs(ms) => Some(format!("at most {}", duration(ms))),
        TimeLimit::LeftMs(ms) => Some(duration(ms)),
        TimeLimit::Never | TimeLimit::Unknown => None,
    }
}

/// `its standard input`, `descriptor 7`.
pub fn fd_name(fd: i32) -> String {
    match fd {
        0 => "its standard input".to_owned(),
        1 => "its standard output".to_owned(),
        2 => "its standard error".to_owned(),
        _ => format!("descriptor {fd}"),
    }
}

/// How a process can be ended: what ignores TERM needs KILL.
pub fn end_it(view: &View<'_>, pid: Pid) -> String {
    let ignores = view.process(pid).is_some_and(|process| {
        crate::data::Signals::has(process.signals.ignored, libc::SIGTERM)
            || crate::data::Signals::has(process.signals.blocked, libc::SIGTERM)
    });
    if ignores { format!("kill -KILL {pid} (it ignores TERM)") } else { format!("kill {pid}") }
}
