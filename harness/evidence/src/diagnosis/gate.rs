//! What a finding is allowed to say: a hang only if nothing that would end it is in sight, and certainty only if every way
//! was read and excluded.
//!
//! Invariants: a process that has a timer, or that somebody will end, within the time for which anybody waits is not called
//! hung; a finding is certain only if the wait-for graph has its process closed in.

use super::finding::{Finding, rank};
use super::graph::{Edge, Graph, Life, Over, To};
use super::rules::{self, end_it};
use super::view::View;
use super::waits::On;
use super::ways::{self, Way};
use super::{Sure, Verdict};
use crate::data::{Alarms, Pid, Process, Signals};
use crate::kind;
use rehang_hangs::{EndedBy, Mechanism, Signature};
use std::collections::BTreeSet;

/// Hangs of a process to which another one does not write, and which would go on once that one does.
const UNFED: [Signature; 3] = [Signature::StdinOpen, Signature::TtyRead, Signature::MutualWait];
/// A timer of a program that serves or follows which is no longer than this is of its housekeeping: Node.js looks at its
/// connections each 30 s (`http.createServer`, connectionsCheckingInterval).
const OF_A_SERVER_MS: u64 = 30_000;
/// The most names of what is out of sight.
const MAX_OUT_OF_SIGHT: usize = 4;

/// The finding as it may be said.
pub fn check(view: &View<'_>, graph: &Graph, finding: Finding) -> Finding {
    let roots = &view.after.roots;
    let all_closed_in = graph.seem_closed_in(roots) && stands_still(view, graph);
    let finding = match finding.verdict {
        Verdict::Waiting if finding.signature == Signature::TerminalPerson && all_closed_in && view.is_supervised() => {
            let because = "everybody who could send a key waits for it, or for nothing that is alive";
            Finding { verdict: Verdict::Hung, ..finding.because(because) }
        }
        Verdict::Waiting
            if all_closed_in && matches!(finding.signature, Signature::StdinOpen | Signature::NoConnection) =>
        {
            Finding { verdict: Verdict::Hung, ..finding }
        }
        // a wait is none if nobody is left who could end it: each of those that are closed in waits for the others
        Verdict::Waiting | Verdict::Unknown
            if all_closed_in
                && finding.signature != Signature::TerminalPerson
                && graph.seems_closed_in(finding.pid)
                && !is_its_own_peer(graph, &finding) =>
        {
            let root = roots.first().copied().unwrap_or_default();
            mutual(view, graph, root, finding)
        }
        _ => finding,
    };
    if finding.verdict != Verdict::Hung {
        return finding;
    }
    // a limit that somebody else has set counts from the process's start
    if let Some(way) = ways::ender(view, finding.pid) {
        let lived = view.process(finding.pid).map_or(0, |process| view.age_ms(process));
        return ends_by(finding, &way, lived);
    }
    if let Some(way) = own(view, &finding).or_else(|| alarm(view, &finding)) {
        let endless = view.process(finding.pid).filter(|_| finding.signature == Signature::NeverEnds);
        return ends_by(finding, &way, endless.map_or(0, |process| view.age_ms(process)));
    }
    if let Some(way) = ends_with_its_reader(view, &finding) {
        return ends_by(finding, &way, 0);
    }
    if let Some(way) = from_outside(view, graph, &finding) {
        let lived = view.process(finding.pid).map_or(0, |process| view.age_ms(process));
        return ends_by(finding, &way, lived);
    }
    if let Some(way) = fed_later(view, graph, &finding).or_else(|| let_go_later(view, graph, &finding)) {
        return ends_by(finding, &way, 0);
    }
    match finding.sure {
        Sure::Certain if !graph.is_closed_in(finding.pid) => Finding { sure: Sure::Likely, ..finding },
        _ => finding,
    }
}

/// The agent above a process that hangs, among those that were asked about: unless it is closed in itself, it may end the
/// process after a time, and its other timers do not show that limit.
pub fn agent_above(view: &View<'_>, graph: &Graph, finding: &Finding) -> Option<String> {
    let is_tool = finding.verdict == Verdict::Hung && view.agent(finding.pid).is_none();
    let agent = view.agent_above(finding.pid).filter(|agent| is_tool && view.after.tree.contains_key(agent))?;
    (!graph.is_closed_in(agent)).then(|| view.name(agent).to_string())
}

/// What a process has written that owes an answer, in bytes.
pub fn written(view: &View<'_>, finding: &Finding) -> Option<u64> {
    let process = view.process(finding.pid).filter(|_| finding.signature == Signature::OwesAnswer)?;
    process.io.map(|io| io.written_bytes)
}

/// Whether a process that hangs below a root waits for the root's own stdin, and only processes above the root hold its other
/// end. A source beside the root (a pipeline) may be slow.
pub fn is_at_callers_stdin(view: &View<'_>, finding: &Finding) -> bool {
    let stdin = |pid: Pid| view.process(pid).and_then(|process| process.fd(0));
    let what = |pid: Pid| stdin(pid).map(|fd| &fd.what);
    let is_below = finding.verdict == Verdict::Hung && finding.signature == Signature::StdinOpen;
    let roots = &view.after.roots;
    if !is_below || roots.contains(&finding.pid) {
        return false;
    }
    roots.iter().any(|root| {
        let (Some(process), Some(fd)) = (view.process(*root), stdin(*root)) else { return false };
        let mut holders = view.other_end(process, fd, true);
        // a child that has just been forked has all that its parent has, until it calls exec
        holders.retain(|pid| view.before.process(*pid).is_some());
        let above: BTreeSet<Pid> = view.ancestors(*root).collect();
        what(*root) == what(finding.pid) && !holders.is_empty() && holders.iter().all(|pid| above.contains(pid))
    })
}

/// Whether no thread of those that are closed in ran between the two looks: snapshots are not taken in one instant, and
/// two that talk to each other may both be seen while they wait.
fn stands_still(view: &View<'_>, graph: &Graph) -> bool {
    let closed_in = graph.components().flatten().filter_map(|pid| view.process(*pid));
    closed_in
        .flat_map(|process| process.threads.iter().map(|thread| (process.pid, thread.tid)))
        .all(|(pid, tid)| view.switches(pid, tid) == 0)
}

/// Whether a process waits at a connection of its own alone: it may take it yet.
fn is_its_own_peer(graph: &Graph, finding: &Finding) -> bool {
    let mut edges = graph.edges.iter().filter(|edge| edge.from == finding.pid);
    let waits_for_peer = matches!(
        finding.signature,
        Signature::PeerSilent | Signature::PeerKeepalive | Signature::PeerTalks | Signature::PeerWait
    );
    waits_for_peer && edges.all(|edge| edge.to == To::Process(finding.pid))
}

/// Whether a timer of the process's own would end this kind of hang. A loop that an agent runs has timers of its screen and
/// of its connections; what it says of itself, and what its records say, does not end by those.
fn ends_by_timer(finding: &Finding) -> bool {
    finding.signature.facts().ended_by == EndedBy::OwnTimer
}

/// The first way of the process's own that comes soon, if such a way ends this kind of hang.
fn own(view: &View<'_>, finding: &Finding) -> Option<Way> {
    let process = view.process(finding.pid).filter(|_| ends_by_timer(finding))?;
    let is_agent = view.is_known_agent(finding.pid);
    // a package manager's own timers are of its progress and its news, not of its questions
    let program = kind::program(process);
    let asks = program.starts_with("npm") || ["npx", "yarn", "pnpm"].contains(&program);
    if asks && view.agent_above(finding.pid).is_some() {
        return None;
    }
    if finding.signature == Signature::StdinOpen && kind::has_no_limit_of_stdin(process) {
        return None;
    }
    // what serves or follows has timers, and they do not end it
    let is_endless = finding.signature == Signature::NeverEnds;
    let keeps_house = |way: &Way| is_endless && way.left_ms.is_some_and(|ms| ms <= OF_A_SERVER_MS);
    let counts = |way: &Way| way.is_soon() && !(is_agent && way.is_of_a_screen()) && !keeps_house(way);
    ways::own(view, process).into_iter().find(counts)
}

/// The process that an edge leads to, if it leads to one.
fn to(edge: &Edge) -> Option<Pid> {
    if let To::Process(pid) = edge.to { Some(pid) } else { None }
}

/// Of a process that nobody writes to: one that could, and waits for something else that goes on, or for an answer that it
/// has asked for. It has what it has started for later, such as the filter of a report; an agent reads before it works, and
/// who began the whole tree without a word has none for it.
fn fed_later(view: &View<'_>, graph: &Graph, finding: &Finding) -> Option<Way> {
    let is_closed = finding.signature == Signature::MutualWait && graph.seems_closed_in(finding.pid);
    if !UNFED.contains(&finding.signature) || view.is_known_agent(finding.pid) || is_closed {
        return None;
    }
    let apart = |pid: Pid| pid != finding.pid && view.agent(pid).is_none();
    let goes_on = |pid: Pid| {
        let asks = || rules::awaits_answer(view, view.process(pid)?);
        let lives = graph.node(pid).filter(|node| node.life == Life::Alive).map(|node| node.why.clone());
        lives.or_else(asks)
    };
    let writers = graph.edges.iter().filter(|edge| edge.from == finding.pid && edge.over != Over::Child);
    let writers = writers.filter_map(to).filter(|pid| apart(*pid) && view.after.tree.contains_key(pid));
    writers.into_iter().find_map(|writer| {
        let others = graph.edges_through(writer, apart).into_iter().filter_map(to).filter(|pid| apart(*pid));
        let (pid, why) = std::iter::once(writer).chain(others).find_map(|pid| Some((pid, goes_on(pid)?)))?;
        let through = if pid == writer { String::new() } else { format!(" waits for {}, which", view.name(pid)) };
        Some(Way { what: format!("{}, which{through} {why}", view.name(writer)), left_ms: None })
    })
}

/// Of a process that waits for a lock: the limit of one that its holder waits for, or of the `timeout` above that one.
fn let_go_later(view: &View<'_>, graph: &Graph, finding: &Finding) -> Option<Way> {
    if finding.signature != Signature::FileLock || graph.seems_closed_in(finding.pid) {
        return None;
    }
    let others = graph.edges_through(finding.pid, |pid| view.agent(pid).is_none()).into_iter().filter_map(to);
    others.filter(|pid| *pid != finding.pid).find_map(|pid| {
        let process = view.process(pid)?;
        let (name, is_soon) = (view.name(pid), |way: &Way| way.is_soon());
        let own = ways::own(view, process).into_iter().find(is_soon);
        let ended = ways::by_timeout(view, process).filter(is_soon);
        let own = own.map(|way| (format!("{name}, which has {}", way.what), way.left_ms));
        let (what, left_ms) = own.or(ended.map(|way| (format!("{name}, which {} may end", way.what), way.left_ms)))?;
        Some(Way { what, left_ms })
    })
}

/// Of a process that reads what others would write: anyone who opens the named FIFO that it reads, and who may wake one of
/// those others, by a signal that it handles or by a request in its io_uring.
fn from_outside(view: &View<'_>, graph: &Graph, finding: &Finding) -> Option<Way> {
    if !UNFED.contains(&finding.signature) && finding.signature != Signature::OwnPipe {
        return None;
    }
    let way = |what: String| Way { what, left_ms: None };
    let reader = view.process(finding.pid)?;
    let fifo = view.waits(reader).iter().find_map(|wait| match wait.on {
        On::Input(fd) => reader.fd(fd).and_then(|fd| view.named_fifo(fd)).map(str::to_owned),
        _ => None,
    });
    if let Some(path) = fifo {
        return Some(way(format!("a process that opens {path}")));
    }
    let others = graph.edges_through(finding.pid, |pid| view.agent(pid).is_none()).into_iter().filter_map(to);
    let others: Vec<&Process> = others.filter(|pid| *pid != finding.pid).filter_map(|pid| view.process(pid)).collect();
    let held = |process: &&Process| {
        let waits = view.waits(process);
        let mut read = waits.iter().filter_map(|wait| if let On::Input(fd) = wait.on { process.fd(fd) } else { None });
        read.find_map(|fd| view.held_out_of_sight(process, fd))
    };
    // who holds a standard input is told by its rule
    let all = std::iter::once(&reader).chain(&others).filter(|_| finding.signature != Signature::StdinOpen);
    if let Some(who) = all.into_iter().find_map(held) {
        return Some(way(who.to_owned()));
    }
    others.into_iter().find_map(|other| {
        let name = view.name(other.pid);
        if ways::awaits_signals(other) {
            return Some(way(format!("a signal to {name}, which handles it")));
        }
        ways::ring(other).then(|| way(format!("a request in the io_uring of {name}")))
    })
}

/// What never ends by itself is told by its next write, or by a look at it, that its reader is gone (tail(1)): a reader with a
/// limit ends it too.
fn ends_with_its_reader(view: &View<'_>, finding: &Finding) -> Option<Way> {
    let process = view.process(finding.pid).filter(|_| finding.signature == Signature::NeverEnds)?;
    let readers = view.other_end(process, process.fd(1)?, false);
    readers.into_iter().find_map(|reader| {
        let reader = view.process(reader).filter(|reader| reader.pid != finding.pid)?;
        let way = ways::by_timeout(view, reader).filter(Way::is_soon)?;
        Some(Way { what: format!("{}, which {} may end", view.name(reader.pid), way.what), left_ms: way.left_ms })
    })
}

/// An alarm that some process of this machine does not handle: it may be this one's, which it would end.
fn alarm(view: &View<'_>, finding: &Finding) -> Option<Way> {
    let process = view.process(finding.pid).filter(|_| ends_by_timer(finding))?;
    let signals = &process.signals;
    let deaf = Signals::has(signals.ignored | signals.blocked | signals.caught, libc::SIGALRM);
    let may = view.after.alarms == Alarms::Unhandled && !deaf;
    may.then(|| Way {
        what: "an alarm, which a process of this machine has and does not handle".to_owned(),
        left_ms: None,
    })
}

/// What may end by a way of its own or of somebody else's: it counts as hung once it has lasted for longer than anybody
/// waits, of which `lasted_ms` have passed.
fn ends_by(finding: Finding, way: &Way, lasted_ms: u64) -> Finding {
    let left_ms = ways::LONG_MS.saturating_sub(lasted_ms).max(way.left_ms.unwrap_or(0)).max(1);
    let words = way.words();
    // a way is in sight now
    let others = finding.ends.trim_start_matches("nothing in sight").trim_start_matches("; ");
    let ends = if others.is_empty() { words.clone() } else { format!("{words}; or {others}") };
    let because = match finding.because.as_str() {
        "" => format!("it may end by {words}"),
        because => format!("{because}; it may end by {words}"),
    };
    let sure = finding.sure.min(Sure::Likely);
    let text = format!("{}; it may end by {words}", finding.sentence);
    let hung_in_ms = Some(left_ms);
    Finding { verdict: Verdict::Waiting, sure, sentence: text, hung_in_ms, ..finding.ends(ends).because(because) }
}

/// A wait of which the graph shows that nobody is left who could end it.
fn mutual(view: &View<'_>, graph: &Graph, root: Pid, finding: Finding) -> Finding {
    let Some(all) = graph.component(root) else { return finding };
    let living: Vec<Pid> = all
        .iter()
        .copied()
        .filter(|pid| view.process(*pid).is_some_and(|process| process.state != crate::data::State::Zombie))
        .collect();
    let name = view.name(root);
    let others: Vec<Pid> = living.iter().copied().filter(|pid| *pid != root).collect();
    let serves = matches!(finding.signature, Signature::Helper | Signature::Serves);
    let mechanism = if serves { Mechanism::X2 } else { Mechanism::C6 };
    let text = match others.as_slice() {
        [] => format!("{name} waits, and nothing that is alive could end that: {}", finding.sentence),
        others => format!("{name} and {} wait for each other: {}", view.names(others), finding.sentence),
    };
    let subject = others.first().copied().filter(|_| serves).unwrap_or(root);
    let lines: Vec<String> = graph
        .edges
        .iter()
        .filter(|edge| matches!(edge.to, To::Process(to) if to != edge.from) && living.contains(&edge.from))
        .take(3)
        .map(|edge| graph.line(edge))
        .collect();
    let because = match lines.as_slice() {
        [] => "no other process, timer or person has a part in it".to_owned(),
        lines => format!("no other process, timer or person has a part in it: {}", lines.join("; ")),
    };
    let asks = view.process(finding.pid).filter(|one| finding.signature == Signature::Helper && !kind::helper(one));
    let asks = asks.and_then(|process| Some(view.other_end(process, process.fd(0)?, true)));
    let next = asks.map(|hosts| format!("; {}", rules::without_input(&view.names(&hosts)))).unwrap_or_default();
    let ends = format!("nothing in sight{next}; from outside: {}", end_it(view, subject));
    // the process that waits is the one to look at, and the smallest that can be ended
    let about = if living.contains(&finding.pid) { finding.pid } else { root };
    let found = Finding::hung(about, Signature::MutualWait, mechanism, text).ends(ends).because(because);
    Finding { rank: rank::LIKELY, ..found }
}

/// What could end a hang and cannot be seen.
pub fn out_of_sight(view: &View<'_>, graph: &Graph, finding: &Finding) -> Vec<String> {
    if finding.verdict != Verdict::Hung || graph.is_closed_in(finding.pid) {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    let outside = graph.edges_from(finding.pid).into_iter().filter_map(|edge| match &edge.to {
        To::Outside(who) => Some(who.clone()),
        _ => None,
    });
    let alarm = "an alarm that a process of this machine has set (the kernel does not say which one)".to_owned();
    let alarms = matches!(view.after.alarms, Alarms::Some | Alarms::Unhandled).then_some(alarm);
    for who in outside.chain(alarms) {
        if !found.contains(&who) && found.len() < MAX_OUT_OF_SIGHT {
            found.push(who);
        }
    }
    found
}
