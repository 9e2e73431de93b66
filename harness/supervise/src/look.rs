//! Looks at a command that says nothing: whether it waits for an input that nobody will write.
//!
//! Invariant: silence is never enough. A hang is believed where every look for as long as the patience lasts says the same
//! of the same process: it waits for the stdin that it has from our caller, uses no processor time, and either whoever holds
//! the other end waits for the command itself, or it has never said anything and only those above us hold that end, as
//! where a parent starts an agent with a pipe that it forgot. A source beside us (a pipeline) may be slow: it is left alone,
//! and so are terminals, where a person may come, servers, which may answer, and locks, which may be given back.

use rehang_evidence::data::{End, Object};
use rehang_evidence::diagnosis::{Sure, Verdict};
use rehang_evidence::{Diagnosis, Limits, Options, Snapshot, diagnose, look, take};
use rehang_runner::tree::{self, Below};
use std::time::{Duration, Instant};

/// The signature that is ended.
const STDIN_OPEN: &str = "stdin-open";

/// How long processes that are about to be ended are looked at: what computes uses many ticks of 10 ms in it.
const WINDOW: Duration = Duration::from_millis(500);

/// How far apart the two snapshots of a [`Glance`] are, as on the stages.
const APART: Duration = Duration::from_secs(1);

/// The processes as they were, and what that means.
pub type Seen = (Snapshot, Diagnosis);

/// Looks, and remembers.
pub struct Looks {
    pid: i32,
    every: Duration,
    patience: Duration,
    next: Instant,
    before: Option<Snapshot>,
    /// Who has waited for stdin, and since when.
    waits: Option<(i32, Instant)>,
    said: bool,
}

impl Looks {
    /// Looks at the tree below a process; believes what has stood for `patience`.
    pub fn at(pid: i32, patience: Duration) -> Looks {
        let every = (patience / 6).max(Duration::from_millis(20));
        Looks { pid, every, patience, next: Instant::now() + every, before: None, waits: None, said: false }
    }

    /// How long until the next look.
    pub fn rest(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Something came out: it moves.
    pub fn moved(&mut self) {
        (self.before, self.waits, self.said) = (None, None, true);
    }

    /// Looks if it is time to; a hang that is believed.
    pub fn look(&mut self) -> Option<Seen> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        self.next = now + self.every;
        let (snapshot, diagnosis) = self.take()?;
        if !self.is_forgotten(&snapshot, &diagnosis) {
            self.waits = None;
            return None;
        }
        let (pid, since) = *self.waits.get_or_insert((diagnosis.pid, now));
        if pid != diagnosis.pid {
            self.waits = Some((diagnosis.pid, now));
            return None;
        }
        (now.duration_since(since) >= self.patience).then_some((snapshot, diagnosis))
    }

    /// Whether it waits for our caller's stdin, and nobody who holds the other end is going to write.
    fn is_forgotten(&self, snapshot: &Snapshot, diagnosis: &Diagnosis) -> bool {
        let found = diagnosis.verdict == Verdict::Hung && diagnosis.signature == STDIN_OPEN;
        let stdin = |pid| snapshot.process(pid).and_then(|process| process.fd(0)).map(|fd| &fd.what);
        let ours = stdin(self.pid).filter(|ours| stdin(diagnosis.pid) == Some(ours));
        let Some(ours) = ours.filter(|_| found) else { return false };
        if diagnosis.sure == Sure::Certain {
            return true;
        }
        let holders: Vec<i32> = match ours {
            Object::Pipe { inode } | Object::Fifo { inode, .. } => {
                snapshot.holders(*inode, End::Write).map(|(process, _)| process.pid).collect()
            }
            Object::Socket { inode } => {
                let peer = snapshot.sockets.get(inode).and_then(|socket| socket.peer);
                peer.into_iter()
                    .flat_map(|peer| snapshot.socket_holders(peer))
                    .map(|(process, _)| process.pid)
                    .collect()
            }
            _ => return false,
        };
        let above = tree::above();
        !self.said && !holders.is_empty() && holders.iter().all(|pid| above.contains(pid))
    }

    /// What can be said of it now, beside the last look.
    fn take(&mut self) -> Option<Seen> {
        let snapshot = take(&[self.pid], &Options::default()).ok()?;
        let before = self.before.replace(snapshot.clone());
        let diagnosis = diagnose(before.as_ref().unwrap_or(&snapshot), &snapshot, &Limits::default());
        Some((snapshot, diagnosis))
    }
}

/// A look that a strategy has asked for: two snapshots, [`APART`] apart, and what they mean.
pub struct Glance {
    pid: i32,
    before: Option<Snapshot>,
    due: Instant,
}

impl Glance {
    /// Takes the first snapshot.
    pub fn begin(pid: i32) -> Glance {
        Glance { pid, before: take(&[pid], &Options::default()).ok(), due: Instant::now() + APART }
    }

    /// How long until the second one.
    pub fn rest(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Takes the second snapshot; what both mean. A process that is gone has ended.
    pub fn end(self) -> Diagnosis {
        let after = take(&[self.pid], &Options::default()).unwrap_or_default();
        diagnose(self.before.as_ref().unwrap_or(&after), &after, &Limits::default())
    }
}

/// What is about to be ended, as it was before the first signal: of what is dead nobody can say why it hung.
#[derive(Default)]
pub struct Before {
    /// None where nobody was there any more.
    pub seen: Option<Seen>,
    /// Who was there.
    pub there: Vec<Below>,
}

impl Before {
    /// Looks at a command, or at what it has left where it has exited.
    pub fn look(pid: i32, exited: bool) -> Before {
        let there = tree::below();
        let pids: Vec<i32> = if exited { there.iter().map(|left| left.pid).collect() } else { vec![pid] };
        let look = look(&pids, &Options::default(), &Limits::default(), WINDOW);
        Before { seen: look.ok().map(|look| (look.after, look.diagnosis)), there }
    }

    /// What was found by [`Looks`] is not looked at again.
    pub fn found(seen: Seen) -> Before {
        Before { seen: Some(seen), there: tree::below() }
    }
}
