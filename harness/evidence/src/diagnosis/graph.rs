//! Who waits for whom, as data: the wait-for graph of a tree and of those around it.
//!
//! A process with several threads, or with an event loop, goes on as soon as one of its waits ends: its edges are
//! alternatives. A process is *closed in* if no path of edges leads from it to one that is alive or to something outside.
//! Nothing but a signal from outside ends that.
//!
//! Invariants: what cannot be seen counts as outside, so that missing rights never make a process count as closed in; a
//! closed component holds no process that is alive; a process outside of the tree that has an event loop counts as
//! alive, unless all that the loop waits for is in sight and it has no timer.

use super::rules::{self, file, run};
use super::view::View;
use super::waits::{On, Wait};
use super::{Limits, Verdict, ways};
use crate::data::{Alarms, Descriptor, Family, Object, Pid, Process, Signals, Snapshot, SocketState, State, TimeLimit};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Who waits for whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// The processes of the tree, then those around it that somebody waits for.
    pub nodes: Vec<Node>,
    /// Who waits for whom, in the order of the nodes.
    pub edges: Vec<Edge>,
    /// The closed components: processes that wait for each other or for what is dead, and for nobody else.
    pub closed: Vec<Vec<Pid>>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its id.
    pub pid: Pid,
    /// Its name with its id: `cat (123)`.
    pub name: String,
    /// Whether it belongs to the tree that was asked about.
    pub in_tree: bool,
    /// Whether it goes on by itself.
    pub life: Life,
    /// Why it is alive or dead; empty if it just waits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Whether a process goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// It runs, moves data, or has a timer.
    Alive,
    /// It waits: its edges say for whom.
    Waits,
    /// It has ended, is stopped, or spins for nothing.
    Dead,
}

/// A process waits for somebody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Edge {
    /// Who waits.
    pub from: Pid,
    /// For whom.
    pub to: To,
    /// Over what.
    pub over: Over,
    /// Which one: `its standard input`, a path, an address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub which: String,
}

/// For whom a process waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// A process in sight; its own id if it waits for itself.
    Process(Pid),
    /// Somebody or something that is not in sight: a peer, a person, another user's process.
    Outside(String),
    /// No process could end it.
    Nobody,
}

/// Over what a process waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// An anonymous pipe.
    Pipe,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A terminal.
    Tty,
    /// A child's end.
    Child,
    /// A lock on a file.
    Lock,
    /// Another thread of its own.
    Thread,
    /// Time without an end.
    Time,
    /// A signal.
    Signal,
    /// A question or a permission.
    Ask,
    /// Files that change.
    Files,
    /// What the kernel does not tell.
    Unknown,
}

impl Over {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Over::Pipe => "pipe",
            Over::Fifo => "FIFO",
            Over::Socket => "socket",
            Over::Tty => "terminal",
            Over::Child => "child",
            Over::Lock => "lock",
            Over::Thread => "thread",
            Over::Time => "time",
            Over::Signal => "signal",
            Over::Ask => "ask",
            Over::Files => "files",
            Over::Unknown => "unknown",
        }
    }
}

impl Graph {
    /// A process's node.
    pub fn node(&self, pid: Pid) -> Option<&Node> {
        self.nodes.iter().find(|node| node.pid == pid)
    }

    /// Whether nothing alive or outside can end what a process waits for.
    pub fn is_closed_in(&self, pid: Pid) -> bool {
        self.closed.iter().any(|component| component.contains(&pid))
    }

    /// What a process waits for, and those that it waits for, nearest first.
    pub fn edges_from(&self, pid: Pid) -> Vec<&Edge> {
        let (mut seen, mut todo, mut found) = (BTreeSet::from([pid]), vec![pid], Vec::new());
        while !todo.is_empty() {
            let mut next = Vec::new();
            for edge in todo.iter().flat_map(|from| self.edges.iter().filter(move |edge| edge.from == *from)) {
                found.push(edge);
                if let To::Process(to) = edge.to
                    && seen.insert(to)
                {
                    next.push(to);
                }
            }
            todo = next;
        }
        found
    }

    /// An edge as a line: `sh (12) → cat (13), its child`.
    pub fn line(&self, edge: &Edge) -> String {
        let name = |pid: Pid| self.node(pid).map_or_else(|| pid.to_string(), |node| node.name.clone());
        let to = match &edge.to {
            To::Process(pid) if *pid == edge.from => "itself".to_owned(),
            To::Process(pid) => {
                let why =
                    self.node(*pid).filter(|node| !node.why.is_empty()).map(|node| format!(", which {}", node.why));
                format!("{}{}", name(*pid), why.unwrap_or_default())
            }
            To::Outside(who) => who.clone(),
            To::Nobody => "nobody".to_owned(),
        };
        let which = if edge.which.is_empty() { String::new() } else { format!(" {}", edge.which) };
        format!("{} → {to}: {}{which}", name(edge.from), edge.over.name())
    }
}

/// The wait-for graph of what two snapshots show.
pub fn graph(before: &Snapshot, after: &Snapshot, limits: &Limits) -> Graph {
    of(&View::new(before, after, *limits))
}

/// The wait-for graph of a view.
pub fn of(view: &View<'_>) -> Graph {
    let after = view.after;
    let mut graph = Graph::default();
    let mut todo: VecDeque<Pid> = after.tree.keys().copied().filter(|pid| !is_reader(view, *pid)).collect();
    let mut known: BTreeSet<Pid> = todo.iter().copied().collect();
    while let Some(process) = todo.pop_front().and_then(|pid| view.process(pid)) {
        let (life, why, edges) = waits_of(view, process);
        for edge in &edges {
            if let To::Process(to) = edge.to
                && view.process(to).is_some()
                && known.insert(to)
            {
                todo.push_back(to);
            }
        }
        let (pid, in_tree) = (process.pid, after.tree.contains_key(&process.pid));
        graph.nodes.push(Node { pid, name: view.name(pid).to_string(), in_tree, life, why });
        graph.edges.extend(edges);
    }
    graph.closed = closed(&graph);
    // who is ended by somebody beside or above it is not closed in, nor is who waits for it
    let ended = graph.closed.iter().flatten().filter_map(|pid| Some((*pid, ways::ender(view, *pid)?)));
    let ended: Vec<Edge> = ended
        .map(|(from, way)| Edge { from, to: To::Outside(way.words()), over: Over::Signal, which: String::new() })
        .collect();
    if !ended.is_empty() {
        graph.edges.extend(ended);
        graph.closed = closed(&graph);
    }
    if matches!(after.alarms, Alarms::Some | Alarms::Unhandled) {
        graph.closed.clear();
    }
    graph
}

/// The nodes from which no path leads to life or outside, in their connected components.
fn closed(graph: &Graph) -> Vec<Vec<Pid>> {
    let alive = graph.nodes.iter().filter(|node| node.life == Life::Alive).map(|node| node.pid);
    let outward = graph.edges.iter().filter(|edge| matches!(edge.to, To::Outside(_))).map(|edge| edge.from);
    let mut open: BTreeSet<Pid> = alive.chain(outward).collect();
    // each round but the last opens one more
    for _ in &graph.nodes {
        let more: Vec<Pid> = graph
            .edges
            .iter()
            .filter(|edge| matches!(edge.to, To::Process(to) if open.contains(&to) || graph.node(to).is_none()))
            .map(|edge| edge.from)
            .filter(|from| !open.contains(from))
            .collect();
        if more.is_empty() {
            break;
        }
        open.extend(more);
    }
    let mut component: BTreeMap<Pid, Pid> =
        graph.nodes.iter().map(|node| node.pid).filter(|pid| !open.contains(pid)).map(|pid| (pid, pid)).collect();
    for edge in &graph.edges {
        let To::Process(to) = edge.to else { continue };
        if let (Some(one), Some(other)) = (component.get(&edge.from).copied(), component.get(&to).copied()) {
            component.values_mut().filter(|of| **of == other).for_each(|of| *of = one);
        }
    }
    let mut all: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for (pid, of) in component {
        all.entry(of).or_default().push(pid);
    }
    // a process that has ended waits for no other
    let waits = |pids: &Vec<Pid>| !pids.iter().all(|pid| has_ended(graph, *pid));
    let mut all: Vec<Vec<Pid>> = all.into_values().filter(waits).collect();
    all.sort();
    all
}

fn has_ended(graph: &Graph, pid: Pid) -> bool {
    graph.node(pid).is_some_and(|node| node.life == Life::Dead && node.why == ENDED)
}

const ENDED: &str = "has ended";

fn is_reader(view: &View<'_>, pid: Pid) -> bool {
    pid == view.after.reader.pid
}

type Waits = (Life, String, Vec<Edge>);

fn waits_of(view: &View<'_>, process: &Process) -> Waits {
    let alive = |why: &str| (Life::Alive, why.to_owned(), Vec::new());
    let dead = |why: &str| (Life::Dead, why.to_owned(), Vec::new());
    match process.state {
        State::Zombie => return dead(ENDED),
        State::Stopped => {
            let to = To::Outside("whoever continues it".to_owned());
            let edge = Edge { from: process.pid, to, over: Over::Signal, which: String::new() };
            return (Life::Waits, "is stopped".to_owned(), vec![edge]);
        }
        State::Traced if process.tracer <= 0 => {
            let to = To::Outside("whoever traces it".to_owned());
            let edge = Edge { from: process.pid, to, over: Over::Signal, which: String::new() };
            return (Life::Waits, "is held by a debugger".to_owned(), vec![edge]);
        }
        State::Traced => {
            let edge = Edge {
                from: process.pid,
                to: to(view, process, process.tracer),
                over: Over::Signal,
                which: String::new(),
            };
            return (Life::Waits, "is held by a debugger".to_owned(), vec![edge]);
        }
        _ => {}
    }
    let works = run::rule(view, process);
    if let Some(finding) = &works {
        return match finding.verdict {
            Verdict::Hung => dead("spins for nothing"),
            Verdict::Waiting => alive("waits for a device"),
            _ => alive("works"),
        };
    }
    let mut found = Found { view, process, edges: BTreeSet::new(), alive: None };
    if !found.asks() {
        found.waits();
    }
    let Found { edges, alive: why, .. } = found;
    let life = if why.is_some() { Life::Alive } else { Life::Waits };
    (life, why.unwrap_or_default(), edges.into_iter().collect())
}

/// The one that `from` waits for.
fn to(view: &View<'_>, from: &Process, pid: Pid) -> To {
    let is_outside = !view.after.tree.contains_key(&from.pid);
    let below = |reader| view.after.roots.iter().copied().find(|root| view.ancestors(*root).any(|pid| pid == reader));
    match view.process(pid) {
        // who looks at what it has started itself passes its output on, and waits for nothing else
        _ if is_reader(view, pid) => match below(pid).filter(|_| is_outside) {
            Some(root) => To::Process(root),
            None => To::Outside(format!("{}, which looks", view.name(pid))),
        },
        Some(_) => To::Process(pid),
        None => To::Outside(format!("process {pid}, which is not in sight")),
    }
}

/// The edges of one process.
struct Found<'v, 'a> {
    view: &'v View<'a>,
    process: &'a Process,
    edges: BTreeSet<Edge>,
    /// Why it goes on by itself.
    alive: Option<String>,
}

impl Found<'_, '_> {
    fn add(&mut self, to: To, over: Over, which: impl Into<String>) {
        self.edges.insert(Edge { from: self.process.pid, to, over, which: which.into() });
    }

    fn alive(&mut self, why: impl Into<String>) {
        self.alive.get_or_insert(why.into());
    }

    /// What an agent says that it waits for is taken as true, unless it says that something runs beside it.
    fn asks(&mut self) -> bool {
        let pid = self.process.pid;
        if let Some(waits) = rules::prompted(self.view, self.process) {
            waits.iter().for_each(|wait| self.wait(wait, &waits));
            return true;
        }
        let Some(agent) = self.view.after.agents.iter().find(|agent| agent.pid == pid && !agent.asks.is_empty()) else {
            return false;
        };
        let to = match rules::route(self.view, self.process) {
            Some(route) => To::Outside(format!("whoever answers ({route})")),
            None => To::Nobody,
        };
        self.add(to, Over::Ask, agent.asks[0].kind.clone());
        agent.running.is_empty()
    }

    fn waits(&mut self) {
        let all = self.view.waits(self.process);
        if all.is_empty() {
            let threads = &self.process.threads;
            match threads.iter().all(|thread| !thread.call_read && thread.wchan.is_empty()) {
                true => self.add(To::Outside("what may not be read".to_owned()), Over::Unknown, ""),
                false => self.alive("is ready to run"),
            }
        }
        for wait in &all {
            self.wait(wait, &all);
        }
        for way in ways::own(self.view, self.process) {
            match way.left_ms {
                Some(_) => self.alive("has a timer"),
                None => self.add(To::Outside(way.what), Over::Time, ""),
            }
        }
        if ways::awaits_signals(self.process) {
            self.add(To::Outside("whoever sends it a signal".to_owned()), Over::Signal, "");
        }
        // the end of any child ends the wait by its signal
        let signals = &self.process.signals;
        if Signals::has(signals.caught, libc::SIGCHLD) && !Signals::has(signals.blocked, libc::SIGCHLD) {
            for child in self.view.living_children(self.process.pid) {
                self.add(to(self.view, self.process, child.pid), Over::Child, "");
            }
        }
        if self.is_outside() {
            self.outside(&all);
        }
    }

    fn is_outside(&self) -> bool {
        !self.view.after.tree.contains_key(&self.process.pid)
    }

    /// Of a process outside of the tree less can be seen: what is missing counts as outside or as a timer.
    fn outside(&mut self, all: &[Wait]) {
        // what is no run that should end is used by somebody
        if !self.view.after.roots.iter().any(|root| self.view.is_of_a_run(*root)) {
            self.add(To::Outside("whoever uses it".to_owned()), Over::Signal, "");
        }
        if self.process.has_unseen || !self.process.fds_read {
            self.add(To::Outside("processes that are not in sight".to_owned()), Over::Unknown, "");
        }
        if all.iter().any(|wait| wait.polled && wait.limit == TimeLimit::Unknown) {
            self.alive("has an event loop of its own, and perhaps a timer");
        }
    }

    fn wait(&mut self, wait: &Wait, all: &[Wait]) {
        let process = self.process;
        match &wait.on {
            On::Input(fd) => self.channel(wait, *fd, true),
            On::Output(fd) | On::Ioctl { fd, .. } => self.channel(wait, *fd, false),
            On::Child(child) => self.child(*child),
            On::Futex => self.futex(wait, all),
            On::Clock => self.clock(wait),
            On::Lock(fd) => match file::lock_holder(self.view, process, *fd) {
                Some(holder) => self.add(to(self.view, process, holder), Over::Lock, file::path_of(process, *fd)),
                None => self.add(
                    To::Outside("whoever holds it, who is not in sight".to_owned()),
                    Over::Lock,
                    file::path_of(process, *fd),
                ),
            },
            On::Open { path, fifo: true } => {
                self.add(To::Outside("whoever opens it".to_owned()), Over::Fifo, path.clone().unwrap_or_default());
            }
            On::Open { .. } => self.alive("opens a file"),
            On::Connect(fd) => {
                let remote = process.fd(*fd).and_then(|fd| self.view.socket(fd)).map(|socket| socket.remote.clone());
                let remote = remote.filter(|remote| !remote.is_empty()).unwrap_or_else(|| "a peer".to_owned());
                self.add(To::Outside(remote), Over::Socket, "that is not connected yet");
            }
            On::Signal => match run::handles_signals(process) || run::is_sigwait(wait) {
                true => self.add(To::Outside("whoever sends it a signal".to_owned()), Over::Signal, ""),
                false => self.add(To::Nobody, Over::Signal, ""),
            },
            On::Hidden => self.add(To::Outside("what the kernel does not tell".to_owned()), Over::Unknown, ""),
        }
    }

    fn channel(&mut self, wait: &Wait, number: i32, reads: bool) {
        let (view, process) = (self.view, self.process);
        let Some(fd) = process.fd(number) else {
            return self.add(To::Outside("what may not be read".to_owned()), Over::Unknown, "");
        };
        let name = rules::fd_name(number);
        match &fd.what {
            Object::Pipe { .. } | Object::Fifo { .. } => {
                let own = view.own_channel(process, fd);
                // how an event loop wakes itself
                if own && wait.polled && number > 2 {
                    return;
                }
                let (over, which) = match &fd.what {
                    Object::Fifo { path, .. } => (Over::Fifo, path.clone()),
                    _ => (Over::Pipe, name),
                };
                self.ends(fd, reads, over, &which, own);
            }
            Object::Socket { .. } => self.socket(fd, reads, &name),
            Object::Tty { path, index } => {
                let masters = index.map(|index| view.masters(index)).unwrap_or_default();
                if masters.is_empty() {
                    self.add(To::Outside("whoever has the other side".to_owned()), Over::Tty, path.clone());
                }
                // a person may sit there, or come
                if reads && !view.is_of_a_run(process.pid) {
                    self.add(To::Outside("a person".to_owned()), Over::Tty, path.clone());
                }
                for master in masters {
                    self.add(to(view, process, master), Over::Tty, path.clone());
                }
            }
            // the other side of a pseudo-terminal: whoever has it open may write to it
            Object::Master { index } => {
                let others: Vec<Pid> = view.at_terminal(*index).filter(|pid| *pid != process.pid).collect();
                if others.is_empty() {
                    self.add(To::Outside("whoever opens its terminal".to_owned()), Over::Tty, name);
                } else {
                    for other in others {
                        self.add(to(view, process, other), Over::Tty, &name);
                    }
                }
            }
            Object::Process { pid } if *pid > 0 => self.add(to(view, process, *pid), Over::Child, ""),
            Object::Timer { left_ms: Some(_) } => self.alive("has a timer"),
            Object::Inotify => self.add(To::Outside("whoever changes them".to_owned()), Over::Files, ""),
            Object::Signal => {
                self.add(To::Outside("whoever sends it a signal".to_owned()), Over::Signal, "");
            }
            // without another thread, only another process that has it can write to it
            Object::Event { .. } if process.threads.len() == 1 && !wait.polled => {
                self.add(To::Outside("another process that has it, if there is one".to_owned()), Over::Unknown, name);
            }
            Object::Event { .. } => self.add(To::Process(process.pid), Over::Thread, ""),
            // a read of a file that does not return is none of its bytes: a message queue, a device
            Object::File { .. } | Object::Null if !wait.polled => {
                self.add(To::Outside("what the kernel does not tell".to_owned()), Over::Unknown, name);
            }
            Object::Other { .. } | Object::Uring | Object::Epoll { .. } => {
                self.add(To::Outside("what the kernel does not tell".to_owned()), Over::Unknown, name);
            }
            _ => {}
        }
    }

    fn ends(&mut self, fd: &Descriptor, reads: bool, over: Over, which: &str, own: bool) {
        let others = self.view.other_end(self.process, fd, reads);
        for other in &others {
            self.add(to(self.view, self.process, *other), over, which);
        }
        let in_flight = || self.view.after.processes().any(|process| process.fds_in_flight > 0);
        match others.is_empty() {
            true if own && in_flight() => {
                self.add(To::Outside("who is sent a descriptor of it".to_owned()), over, which);
            }
            true if own => self.add(To::Process(self.process.pid), over, which),
            // without a process at the other end the call would have returned
            true => self.add(To::Outside("whoever has the other end, who is not in sight".to_owned()), over, which),
            false => {}
        }
    }

    fn socket(&mut self, fd: &Descriptor, reads: bool, name: &str) {
        let Some(socket) = self.view.socket(fd) else {
            return self.add(To::Outside("a peer".to_owned()), Over::Socket, name);
        };
        if self.view.own_channel(self.process, fd) {
            return;
        }
        if socket.state == SocketState::Listening || (socket.family == Family::Udp && socket.remote.is_empty()) {
            let which = if socket.local.is_empty() { name } else { &socket.local };
            return self.add(To::Outside("whoever calls on it".to_owned()), Over::Socket, which);
        }
        if socket.state == SocketState::Connecting {
            return self.add(To::Outside("the kernel, which gives it up".to_owned()), Over::Socket, name);
        }
        if let Some(listener) = self.view.after.queued.get(&socket.inode) {
            let holders: Vec<Pid> = self.view.after.socket_holders(*listener).map(|(holder, _)| holder.pid).collect();
            for holder in &holders {
                self.add(to(self.view, self.process, *holder), Over::Socket, name);
            }
            if !holders.is_empty() {
                return;
            }
        }
        if socket.peer.is_none() && !socket.remote.is_empty() {
            return self.add(To::Outside(socket.remote.clone()), Over::Socket, name);
        }
        self.ends(fd, reads, Over::Socket, name, false);
    }

    /// The caller's own number of a child; in a pid namespace of its own it differs from ours.
    fn child(&mut self, child: Pid) {
        let (view, pid) = (self.view, self.process.pid);
        let all = || view.after.children(pid).filter(|process| !is_reader(view, process.pid));
        let named: Vec<&Process> =
            all().filter(|process| child > 0 && (process.pid == child || process.ns_pid == child)).collect();
        let waited = if named.is_empty() { all().collect() } else { named };
        if view.after.children(pid).any(|process| is_reader(view, process.pid)) {
            self.add(To::Outside("this very look".to_owned()), Over::Child, "");
        }
        if waited.iter().any(|process| process.state == State::Zombie) {
            return self.alive("is about to take in a child that has ended");
        }
        if waited.is_empty() && self.edges.is_empty() {
            self.alive("has no child left to wait for");
        }
        for process in waited {
            self.add(to(view, self.process, process.pid), Over::Child, "");
        }
    }

    fn futex(&mut self, wait: &Wait, all: &[Wait]) {
        let process = self.process;
        if run::shares(process, wait) {
            return self.add(To::Outside("whoever shares its memory".to_owned()), Over::Thread, "");
        }
        match wait.limit {
            TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) if ms < run::NO_END_MS => self.alive("has a timer"),
            // it may have one
            TimeLimit::Unknown => self.add(To::Outside("what may not be read".to_owned()), Over::Thread, ""),
            _ => self.add(To::Process(process.pid), Over::Thread, ""),
        }
        let only_threads = all.iter().all(|wait| wait.on == On::Futex);
        if only_threads && Signals::has(process.signals.caught, libc::SIGTERM) {
            self.add(To::Outside("whoever sends it a signal".to_owned()), Over::Signal, "");
        }
    }

    fn clock(&mut self, wait: &Wait) {
        if wait.polled {
            if let TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) = wait.limit
                && ms < run::NO_END_MS
            {
                self.alive("has a timer");
            }
            return;
        }
        let finding = run::clock(self.view, self.process, wait);
        match finding.verdict {
            _ if finding.signature == "never-ends" => self.add(To::Nobody, Over::Time, ""),
            _ => self.alive(if finding.signature == "polling" { "looks again and again" } else { "sleeps for a time" }),
        }
    }
}
