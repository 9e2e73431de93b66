//! Looks at a command that says nothing: whether it waits for an input that nobody will write.
//!
//! Invariant: silence is never enough. A hang is believed if every look during the patience says the same of the same
//! process: it waits for the stdin that it has from our caller, uses no processor time, and either the holder of the
//! other end waits for the command itself, or the command has never said anything and only processes above us hold that
//! end, as when a parent starts an agent with a pipe that it forgot. A source beside us (a pipeline) may be slow: it is
//! left alone, and so are terminals, where a person may come, servers, which may answer, and locks, which may be given
//! back.

use rehang_evidence::data::{End, Object};
use rehang_evidence::diagnosis::{Sure, Verdict};
use rehang_evidence::{AgentNames, Diagnosis, Glance, Heard, Limits, Look, Options, Snapshot, look};
use rehang_hangs::Signature;
use rehang_processes::tree::{self, Below};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Something that takes its time, on a thread of its own: a look, as a rule. The relay goes on meanwhile, and is woken by
/// a descriptor when it is done.
pub struct Beside<T> {
    done: Receiver<T>,
    wakes: OwnedFd,
}

impl<T: Send + 'static> Beside<T> {
    /// Begins it.
    ///
    /// # Errors
    /// The machine gives no more pipes or threads.
    pub fn begin(does: impl FnOnce() -> T + Send + 'static) -> io::Result<Beside<T>> {
        let (wakes, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (tell, done) = channel();
        std::thread::Builder::new().name("beside".to_owned()).spawn(move || {
            // nobody listens any more if the run has ended meanwhile
            let _ = tell.send(does());
            // closed after the result is there, and also if there is none
            drop(held);
        })?;
        Ok(Beside { done, wakes })
    }

    /// Readable once it is done.
    pub fn wakes(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }

    /// The result if it is done; `Some(None)`: there will be none.
    pub fn result(&self) -> Option<Option<T>> {
        match self.done.try_recv() {
            Ok(done) => Some(Some(done)),
            Err(TryRecvError::Disconnected) => Some(None),
            Err(TryRecvError::Empty) => None,
        }
    }
}

/// How long processes that are about to be ended are looked at: a process that computes uses many ticks of 10 ms in
/// this time.
const WINDOW: Duration = Duration::from_millis(500);

/// Looks, and remembers.
pub struct Looks {
    pid: i32,
    agents: AgentNames,
    every: Duration,
    patience: Duration,
    /// The look under way: its first snapshot is the second one of the look before. `None` while it is taken.
    glance: Option<Glance>,
    /// The look that is being taken, and when that began.
    taken: Option<(Beside<(Look, Glance)>, Instant)>,
    /// Something came out since the look that is being taken began: it means nothing any more.
    stale: bool,
    /// Which process has waited for stdin, and since when.
    waits: Option<(i32, Instant)>,
    said: bool,
}

impl Looks {
    /// Looks at the tree below a process; believes what has lasted for `patience`.
    pub fn at(pid: i32, patience: Duration, agents: &AgentNames) -> Looks {
        let every = (patience / 6).max(Duration::from_millis(20));
        let glance = Some(Glance::after(&[pid], None, every).naming(agents));
        Looks {
            pid,
            agents: agents.clone(),
            every,
            patience,
            glance,
            taken: None,
            stale: false,
            waits: None,
            said: false,
        }
    }

    /// How long until the next look; `None` while one is taken.
    pub fn rest(&self) -> Option<Duration> {
        self.glance.as_ref().map(Glance::rest)
    }

    /// What wakes the relay when a look has been taken.
    pub fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.taken.as_ref().map(|(taken, _)| taken.wakes())
    }

    /// A look that begins now.
    fn anew(&self) -> Glance {
        Glance::after(&[self.pid], None, self.every).naming(&self.agents)
    }

    /// Something came out: it moves.
    pub fn moved(&mut self) {
        match &self.glance {
            Some(_) => self.glance = Some(self.anew()),
            None => self.stale = true,
        }
        (self.waits, self.said) = (None, true);
    }

    /// Begins a look if it is time to. Returns a hang that was found by the one before, and whether it has lasted long
    /// enough to be believed.
    pub fn look(&mut self, heard: &Heard) -> Option<(Look, bool)> {
        if let Some(mut glance) = self.glance.take_if(|glance| glance.rest().is_zero()) {
            glance.hear(heard);
            let (every, now) = (self.every, Instant::now());
            let look = move || {
                let look = glance.end_and_go_on(every);
                (look, glance)
            };
            match Beside::begin(look) {
                Ok(taken) => (self.taken, self.stale) = (Some((taken, now)), false),
                // without a thread there is no look; the next one may have one
                Err(_) => self.glance = Some(self.anew()),
            }
        }
        let done = self.taken.as_ref().and_then(|(taken, _)| taken.result())?;
        let began = self.taken.take().map_or_else(Instant::now, |(_, began)| began);
        let Some((look, glance)) = done.filter(|_| !self.stale) else {
            self.glance = Some(self.anew());
            return None;
        };
        self.glance = Some(glance);
        let diagnosis = &look.diagnosis;
        if !self.is_forgotten(&look.after, diagnosis) {
            self.waits = None;
            return None;
        }
        let same = self.waits.filter(|(pid, _)| *pid == diagnosis.pid);
        let (_, since) = *self.waits.insert(same.unwrap_or((diagnosis.pid, began)));
        Some((look, began.duration_since(since) >= self.patience))
    }

    /// How long a hang must last to be believed, in milliseconds.
    pub fn patience_ms(&self) -> u64 {
        u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX)
    }

    /// Since when a hang has been found, and when it is believed.
    pub fn stands(&self) -> Option<(i32, Instant, Instant)> {
        self.waits.map(|(pid, since)| (pid, since, since + self.patience))
    }

    /// Whether it waits for our caller's stdin, and no holder of the other end is going to write.
    fn is_forgotten(&self, snapshot: &Snapshot, diagnosis: &Diagnosis) -> bool {
        let found = diagnosis.verdict == Verdict::Hung && diagnosis.signature == Signature::StdinOpen;
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
}

/// What is about to be ended, as it was before the first signal: once it is dead, nothing shows why it hung.
#[derive(Default)]
pub struct Before {
    /// `None` if no process was left.
    pub look: Option<Look>,
    /// The processes that were there.
    pub there: Vec<Below>,
}

impl Before {
    /// Looks at a command, or at what it has left if it has exited. Takes as long as a look does.
    pub fn look(pid: i32, exited: bool, agents: &AgentNames) -> Before {
        let there = tree::below();
        let pids: Vec<i32> = if exited { there.iter().map(|left| left.pid).collect() } else { vec![pid] };
        let look = look(&pids, &Options { records: true, ..Options::default() }, &Limits::default(), WINDOW);
        let named = |mut look: Look| {
            look.count_as_agents(agents, &Limits::default());
            look
        };
        Before { look: look.ok().map(named), there }
    }

    /// Uses a look that was just taken, instead of a new one.
    pub fn found(look: Look) -> Before {
        Before { look: Some(look), there: tree::below() }
    }
}
