//! The smallest part of a tree that has to end so that the agent can go on.
//!
//! Invariants: never the agent itself, nor anything above it; nothing whose end would let a shell go on with the rest of
//! its script: of a command that an agent runs in a shell, the shell is ended too.

use super::finding::Finding;
use super::rules::{escaped, waits_for};
use super::view::View;
use super::waits::On;
use crate::data::{Pid, Process};
use crate::{kind, shells};
use rehang_hangs::Signature;

/// The processes to end, each with all processes below it; empty if only the end of the whole run would do.
pub fn parts(view: &View<'_>, finding: &Finding) -> Vec<Pid> {
    let Some(agent) = survivor(view, finding.pid) else { return Vec::new() };
    if finding.pid != agent.pid {
        return part_below(view, agent.pid, finding.pid).into_iter().collect();
    }
    match finding.signature {
        Signature::StrayHoldsPipe | Signature::StrayWritesPipe => strays(view, agent),
        Signature::MutualWait | Signature::MutualPipe => partners(view, agent.pid),
        _ => Vec::new(),
    }
}

/// The agent that goes on after a part has ended: the nearest one above the culprit, or the culprit itself; of a tree
/// without a known agent its root, unless that is a shell, which would go on with the next line of its script.
fn survivor<'a>(view: &View<'a>, culprit: Pid) -> Option<&'a Process> {
    let in_tree = |pid: &Pid| view.after.tree.contains_key(pid);
    let above: Vec<Pid> = view.ancestors(culprit).filter(in_tree).collect();
    let nearest = above.iter().copied().find(|pid| view.agent(*pid).is_some());
    if let Some(agent) = nearest.or_else(|| view.agent(culprit).map(|_| culprit)) {
        return view.process(agent);
    }
    let root = above.last().copied().unwrap_or(culprit);
    let is_root = view.after.roots.contains(&root);
    view.process(root).filter(|process| is_root && !shells::is_shell(process) && !shells::is_launcher(process))
}

/// The highest process between the agent and the culprit that is neither a tool server nor a shell which the agent feeds
/// line by line: those serve other calls as well, and outlive this one.
fn part_below(view: &View<'_>, agent: Pid, culprit: Pid) -> Option<Pid> {
    let mut path: Vec<Pid> = view.ancestors(culprit).take_while(|above| *above != agent).collect();
    path.reverse();
    path.push(culprit);
    let outlives = |pid: &Pid| {
        *pid != culprit && view.process(*pid).is_some_and(|process| kind::helper(process) || shells::is_fed(process))
    };
    path.into_iter().find(|pid| !outlives(pid))
}

/// The processes that outlived a command of the agent and hold a pipe that it reads; none if one of them serves others.
fn strays(view: &View<'_>, agent: &Process) -> Vec<Pid> {
    let mut found = Vec::new();
    let waits = view.waits(agent);
    // one that was seen awake between two reads of a talking pipe
    let read: Vec<i32> =
        waits.iter().filter_map(|wait| if let On::Input(fd) = wait.on { Some(fd) } else { None }).collect();
    for fd in agent.fds.iter().filter(|fd| read.is_empty() || read.contains(&fd.fd)) {
        for writer in view.other_end(agent, fd, true) {
            if view.after.tree.contains_key(&writer) && escaped(view, agent, writer) && !found.contains(&writer) {
                found.push(writer);
            }
        }
    }
    let serves =
        |pid: &Pid| view.process(*pid).is_some_and(|stray| stray.listening(&view.after.sockets).next().is_some());
    if found.iter().any(serves) { Vec::new() } else { found }
}

/// The processes below the agent that wait for it while it waits for them.
fn partners(view: &View<'_>, agent: Pid) -> Vec<Pid> {
    let below = view.after.tree.values().filter(|process| view.after.descends(process.pid, agent));
    let waiting =
        below.filter(|process| waits_for(view, process.pid, agent).0 && waits_for(view, agent, process.pid).0);
    let mut parts: Vec<Pid> = waiting.filter_map(|process| part_below(view, agent, process.pid)).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}
