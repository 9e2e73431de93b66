//! Who waits for whom, as data: the wait-for graph of a tree and of those around it.
//!
//! A process with several threads, or with an event loop, goes on as soon as one of its waits ends: its edges are
//! alternatives. A process is *closed in* if no path of edges leads from it to one that is alive or to something outside.
//! Nothing but a signal from outside ends that.
//!
//! Invariants: what cannot be seen counts as outside, so that missing rights never make a process count as closed in; a
//! closed component holds no process that is alive; a process outside of the tree that has an event loop counts as
//! alive, unless all that the loop waits for is in sight and it has no timer.

mod edges;

use super::rules::run;
use super::view::View;
use super::{Limits, Verdict, ways};
use crate::data::{Alarms, Pid, Process, Snapshot, State};
use edges::Found;
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
    /// Those that would be closed if no process in them had an alarm: one is armed on this machine, and the kernel does not
    /// say whose it is.
    #[serde(skip)]
    pub closed_but_for_alarms: Vec<Vec<Pid>>,
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
    /// It has ended, or is stopped.
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

rehang_words::listed!(Life: Alive, Waits, Dead);
rehang_words::listed!(
    Over: Pipe, Fifo, Socket, Tty, Child, Lock, Thread, Time, Signal, Ask, Files, Unknown
);

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

    /// As [`Graph::is_closed_in`], but for an alarm that another process is likely to have.
    pub fn seems_closed_in(&self, pid: Pid) -> bool {
        self.component(pid).is_some()
    }

    /// Whether there are such processes, and that is so of each.
    pub fn are_closed_in(&self, pids: &[Pid]) -> bool {
        !pids.is_empty() && pids.iter().all(|pid| self.is_closed_in(*pid))
    }

    /// As [`Graph::are_closed_in`], but for an alarm that another process is likely to have.
    pub fn seem_closed_in(&self, pids: &[Pid]) -> bool {
        !pids.is_empty() && pids.iter().all(|pid| self.seems_closed_in(*pid))
    }

    /// The component of a process that is, or seems, closed in.
    pub fn component(&self, pid: Pid) -> Option<&Vec<Pid>> {
        self.components().find(|pids| pids.contains(&pid))
    }

    /// All components that are, or seem, closed.
    pub fn components(&self) -> impl Iterator<Item = &Vec<Pid>> {
        self.closed.iter().chain(&self.closed_but_for_alarms)
    }

    /// What a process waits for, and those that it waits for, nearest first.
    pub fn edges_from(&self, pid: Pid) -> Vec<&Edge> {
        self.edges_through(pid, |_| true)
    }

    /// The same, of those processes alone through which a path may lead.
    pub fn edges_through(&self, pid: Pid, may_lead: impl Fn(Pid) -> bool) -> Vec<&Edge> {
        let (mut seen, mut todo, mut found) = (BTreeSet::from([pid]), vec![pid], Vec::new());
        while !todo.is_empty() {
            let mut next = Vec::new();
            for edge in todo.iter().flat_map(|from| self.edges.iter().filter(move |edge| edge.from == *from)) {
                found.push(edge);
                if let To::Process(to) = edge.to
                    && may_lead(to)
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
    let ender = |pid: Pid| ways::by_timeout(view, view.process(pid)?).or_else(|| ways::ender(view, pid));
    let ended = graph.closed.iter().flatten().filter_map(|pid| Some((*pid, ender(*pid)?)));
    let ended: Vec<Edge> = ended
        .map(|(from, way)| Edge { from, to: To::Outside(way.words()), over: Over::Signal, which: String::new() })
        .collect();
    if !ended.is_empty() {
        graph.edges.extend(ended);
        graph.closed = closed(&graph);
    }
    // a process that was not read may hold an end of anything
    if after.unread > 0 {
        graph.closed.clear();
    }
    match after.alarms {
        Alarms::Some => graph.closed_but_for_alarms = std::mem::take(&mut graph.closed),
        // none of those that handle alarms needs to have it
        Alarms::Unhandled => graph.closed.clear(),
        Alarms::None | Alarms::NotKnown => {}
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
            let to = To::Outside("somebody who continues it".to_owned());
            let edge = Edge { from: process.pid, to, over: Over::Signal, which: String::new() };
            return (Life::Waits, "is stopped".to_owned(), vec![edge]);
        }
        State::Traced if process.tracer <= 0 => {
            let to = To::Outside("its tracer".to_owned());
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
            // a limit of its own shows no call: a process that runs is never proved to hang
            Verdict::Hung => alive("spins, and may look at a clock"),
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
