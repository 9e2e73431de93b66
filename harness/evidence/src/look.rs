//! Looks twice, with a window between, and says what it means; repeatedly if asked.
//!
//! Invariant: a look waits only for its window, and for servers that it is to ask; a [`Glance`] waits for nothing else
//! than those itself.

use crate::data::{Pid, Snapshot};
use crate::diagnosis::{Diagnosis, Limits, diagnose};
use crate::heard::Heard;
use crate::named::AgentNames;
use crate::read::{Options, SnapshotError, take};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Two snapshots of process trees, and what they mean.
#[derive(Debug, Clone)]
pub struct Look {
    /// The first one.
    pub before: Snapshot,
    /// The second one, a window later.
    pub after: Snapshot,
    /// What they mean.
    pub diagnosis: Diagnosis,
}

impl Look {
    /// What a first snapshot and a later one mean. Without a first one the later one is compared with itself, so that
    /// nothing counts as changed.
    pub fn of(before: Option<Snapshot>, after: Snapshot, limits: &Limits) -> Look {
        let before = before.unwrap_or_else(|| after.clone());
        let diagnosis = diagnose(&before, &after, limits);
        Look { before, after, diagnosis }
    }

    /// Counts the processes of these names as agents, and diagnoses again.
    pub fn count_as_agents(&mut self, names: &AgentNames, limits: &Limits) {
        if names.is_empty() {
            return;
        }
        names.mark(&mut self.before);
        names.mark(&mut self.after);
        self.diagnosis = diagnose(&self.before, &self.after, limits);
    }
}

/// Looks twice, `window` apart.
///
/// # Errors
/// None of the roots exists, before or after the window.
pub fn look(roots: &[Pid], options: &Options, limits: &Limits, window: Duration) -> Result<Look, SnapshotError> {
    // an agent is asked once, at the end
    let before = take(roots, &Options::default())?;
    std::thread::sleep(window);
    Ok(Look::of(Some(before), take(roots, options)?, limits))
}

/// Looks every `window` until `see` has seen enough or the processes are gone. It may change the look that it is given
/// ([`Look::count_as_agents`]).
///
/// # Errors
/// None of the roots exists at the start.
pub fn watch(
    roots: &[Pid],
    options: &Options,
    limits: &Limits,
    window: Duration,
    mut see: impl FnMut(&mut Look) -> ControlFlow<()>,
) -> Result<(), SnapshotError> {
    let mut before = take(roots, &Options::default())?;
    loop {
        std::thread::sleep(window);
        let after = match take(roots, options) {
            Ok(after) => after,
            Err(SnapshotError::NoProcess(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut look = Look::of(Some(before), after, limits);
        if see(&mut look).is_break() {
            return Ok(());
        }
        before = look.after;
    }
}

/// Whom to look at, for [`look_together`].
#[derive(Debug, Clone)]
pub struct Subject {
    /// The process.
    pub pid: Pid,
    /// Programs that count as agents.
    pub names: AgentNames,
    /// What it has said of itself in its output.
    pub heard: Heard,
    /// Whether agents' servers are asked.
    pub asks: bool,
}

/// Looks at several processes, each with all below it, as a [`Glance`] at each would, in two snapshots for all: most of a
/// snapshot's cost is to read the other processes of the machine. Takes [`Glance::WINDOW`]. A server that any subject has asked
/// is asked.
pub fn look_together(subjects: &[Subject]) -> Vec<Look> {
    let pids: Vec<Pid> = subjects.iter().map(|subject| subject.pid).collect();
    let before = take(&pids, &Options::default()).ok();
    std::thread::sleep(Glance::WINDOW);
    let ask = subjects.iter().any(|subject| subject.asks);
    let after = take(&pids, &Options { records: true, ask, ..Options::default() }).unwrap_or_default();
    let look = |subject: &Subject| {
        let of = |snapshot: &Snapshot| snapshot.clone().of_root(subject.pid);
        let mut before = before.as_ref().map(of).filter(|before| !before.tree.is_empty());
        let mut after = of(&after);
        before.iter_mut().for_each(|before| subject.names.mark(before));
        subject.names.mark(&mut after);
        subject.heard.add_to(&mut after);
        Look::of(before, after, &Limits::default())
    };
    subjects.iter().map(look).collect()
}

/// A look for a caller with an event loop of its own: the first snapshot is taken at the start, the second at the end, and
/// the caller does what it likes for the [`Glance::rest`] between.
///
/// It reads the agents' own records, as the looks of the stages do, and takes the default [`Limits`]. The agents' servers
/// are asked if [`Glance::asking`] says so.
#[derive(Debug)]
pub struct Glance {
    roots: Vec<Pid>,
    options: Options,
    before: Option<Snapshot>,
    due: Instant,
    heard: Heard,
    names: AgentNames,
}

impl Glance {
    /// How far apart the two snapshots are, as on the stages.
    pub const WINDOW: Duration = Duration::from_secs(1);

    /// Takes the first snapshot of the trees below `roots`.
    pub fn begin(roots: &[Pid]) -> Glance {
        let before = take(roots, &Options::default()).ok();
        Glance::after(roots, before, Glance::WINDOW)
    }

    /// With a first snapshot that is there already, if there is one; the second is due a `window` from now.
    pub fn after(roots: &[Pid], before: Option<Snapshot>, window: Duration) -> Glance {
        let options = Options { records: true, ..Options::default() };
        Glance {
            roots: roots.to_vec(),
            options,
            before,
            due: Instant::now() + window,
            heard: Heard::default(),
            names: AgentNames::default(),
        }
    }

    /// Has the processes of these names count as agents.
    #[must_use]
    pub fn naming(mut self, names: &AgentNames) -> Glance {
        self.names.clone_from(names);
        self
    }

    /// Has the agents' servers asked too, as the looks of the stages do, after the second snapshot: its end then takes as
    /// long as they do to answer, half a second for each request at most ([`Options::ask`]), and belongs into a thread.
    #[must_use]
    pub fn asking(mut self) -> Glance {
        self.options.ask = true;
        self
    }

    /// Has the second snapshot hold what the agent has said of itself in its output.
    pub fn hear(&mut self, heard: &Heard) {
        self.heard.clone_from(heard);
    }

    /// How long until the second snapshot is due.
    pub fn rest(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Takes the second snapshot. If the processes are gone, it is empty, and the diagnosis says that nothing is left.
    pub fn end(mut self) -> Look {
        self.take()
    }

    /// The same, and begins the next look with this second snapshot; its own is due a `window` from now.
    pub fn end_and_go_on(&mut self, window: Duration) -> Look {
        let look = self.take();
        (self.before, self.due) = (Some(look.after.clone()), Instant::now() + window);
        look
    }

    fn take(&mut self) -> Look {
        let mut after = take(&self.roots, &self.options).unwrap_or_default();
        if let Some(before) = &mut self.before {
            self.names.mark(before);
        }
        // what was heard is the nearest agent's
        self.names.mark(&mut after);
        self.heard.add_to(&mut after);
        Look::of(self.before.take(), after, &Limits::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::staged::Staged;
    use std::process::Stdio;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn two_looks_at_one_child() {
        let cat = Staged::cat(Stdio::piped());
        let roots = [cat.pid()];
        let look = look(&roots, &Options::default(), &Limits::default(), NOW).unwrap();
        assert!(look.before.at_ns < look.after.at_ns && look.after.tree.contains_key(&cat.pid()));
        assert_eq!(look.diagnosis, diagnose(&look.before, &look.after, &Limits::default()));
        // a later one alone is compared with itself
        let alone = Look::of(None, look.after.clone(), &Limits::default());
        assert_eq!((&alone.before, &alone.after), (&look.after, &look.after));
        assert!(super::look(&[Pid::MAX], &Options::default(), &Limits::default(), NOW).is_err());
    }

    #[test]
    fn a_named_agent_is_marked_in_both_snapshots_and_diagnosed_as_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("my-agent.sh");
        std::fs::write(&script, "read line\n").expect("a script");
        let names = AgentNames::new(["my-agent"]).expect("a name");
        let child = Staged::start(std::process::Command::new("sh").arg(&script).stdin(Stdio::piped()));
        child.is_in(libc::SYS_read);
        let (pid, limits) = (child.pid(), Limits::default());
        let mut look = look(&[pid], &Options::default(), &limits, NOW).unwrap();
        let plain = look.diagnosis.clone();
        assert!(look.after.tree[&pid].agent.is_none() && plain.sentence.starts_with("sh my-agent.sh ("), "{plain:?}");
        look.count_as_agents(&AgentNames::default(), &limits);
        assert_eq!(look.diagnosis, plain);
        look.count_as_agents(&names, &limits);
        for snapshot in [&look.before, &look.after] {
            let marked = snapshot.processes().filter(|process| process.agent.is_some()).map(|process| process.pid);
            assert_eq!(marked.collect::<Vec<_>>(), [pid]);
        }
        assert!(look.diagnosis.sentence.starts_with(&format!("my-agent ({pid})")), "{:?}", look.diagnosis);
        let glance = Glance::after(&[pid], None, NOW).naming(&names).end();
        assert_eq!(glance.after.tree[&pid].agent.as_deref(), Some("my-agent"));
        assert!(glance.diagnosis.sentence.starts_with("my-agent ("), "{:?}", glance.diagnosis);
    }

    #[test]
    fn a_watch_goes_on_until_enough_is_seen_or_nothing_is_left() {
        let mut cat = Some(Staged::cat(Stdio::piped()));
        let roots = [cat.as_ref().unwrap().pid()];
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let see = |look: &mut Look| {
            seen.push((look.before.at_ns, look.after.at_ns));
            if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        watch(&roots, &Options::default(), &Limits::default(), NOW, see).unwrap();
        assert_eq!(seen.len(), 3);
        assert!(
            seen[0].1 == seen[1].0 && seen[1].1 == seen[2].0,
            "each begins where the one before it ended: {seen:?}"
        );
        let mut count = 0;
        let end = |_: &mut Look| {
            count += 1;
            cat = None;
            ControlFlow::Continue(())
        };
        watch(&roots, &Options::default(), &Limits::default(), NOW, end).unwrap();
        assert_eq!(count, 1);
        assert!(watch(&roots, &Options::default(), &Limits::default(), NOW, |_| ControlFlow::Break(())).is_err());
    }

    #[test]
    fn those_that_are_looked_at_together_are_told_as_each_alone() {
        let cats = [(); 2].map(|()| Staged::cat(Stdio::piped()));
        let subject = |pid| Subject { pid, names: AgentNames::default(), heard: Heard::default(), asks: false };
        let looks = look_together(&[subject(cats[0].pid()), subject(cats[1].pid()), subject(Pid::MAX)]);
        for (cat, together) in cats.iter().zip(&looks) {
            let alone = Glance::begin(&[cat.pid()]).end();
            let told = |look: &Look| {
                let Diagnosis { verdict, signature, pid, closed_in, sure, .. } = look.diagnosis;
                (verdict, signature, pid, closed_in, sure)
            };
            assert_eq!(told(together), told(&alone));
            assert_eq!(together.after.roots, [cat.pid()]);
            assert_eq!(together.after.tree.keys().collect::<Vec<_>>(), alone.after.tree.keys().collect::<Vec<_>>());
        }
        assert!(looks[0].after.around.contains_key(&cats[1].pid()), "the others are around it");
        assert_eq!(looks[2].after, Snapshot::default());
    }

    #[test]
    fn a_glance_is_due_a_window_later_and_goes_on_with_what_it_saw() {
        let cat = Staged::cat(Stdio::piped());
        let roots = [cat.pid()];
        let week = Duration::from_secs(7 * 24 * 3_600);
        let mut glance = Glance::after(&roots, None, week);
        // no test takes a day
        let day = week / 7;
        assert!(glance.rest() > week - day && glance.rest() <= week);
        let first = glance.end_and_go_on(2 * week);
        assert!(glance.rest() > 2 * week - day && glance.rest() <= 2 * week);
        assert_eq!(first.before, first.after);
        let second = glance.end();
        assert_eq!(second.before, first.after);
        assert!(second.after.tree.contains_key(&cat.pid()));
        let glance = Glance::begin(&roots);
        assert!(glance.rest() <= Glance::WINDOW);
        let before = glance.before.clone();
        drop(cat);
        let look = glance.end();
        assert!(before.is_some_and(|before| before == look.before));
        assert_eq!(look.after, Snapshot::default(), "the process is gone");
    }
}
