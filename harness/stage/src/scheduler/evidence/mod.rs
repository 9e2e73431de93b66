//! Evidence: what `rehang why` would say of the cell's processes, from a snapshot of the kernel's tables.
//!
//! The kernel shows what processes wait for. This module adds what the kernel cannot know: which of the scheduler's
//! descriptors the wrapper, the client and the model hold, the command that a fake plays, what the agents say of
//! themselves ([`records`]), and the connection to the model of an agent that plays its model itself.
//!
//! Invariant: taking evidence changes no trace: nothing is sent, no process runs, and time that is played after a proof
//! is taken back.

mod glance;
pub(super) mod records;

pub(super) use glance::Glance;

use super::hub::{CLIENT_SEAT, Hub};
use super::{Scheduler, Spun, Turn};
use records::Records;
use rehang_evidence::data::{Descriptor, Mode, Object, Pid};
use rehang_evidence::data::{Family, Socket, SocketState, State, Traffic, Watch};
use rehang_evidence::{Diagnosis, Limits, Snapshot, diagnose, kind};
use rehang_hangs::Signature;
use rehang_os::kernel::{Also, InternalError, Party};
use rehang_os::tables::proc_of;
use rehang_scenario::{Fault, Span, Terminal, VTime};
use rehang_trace::Name;

/// The time between the two snapshots of a look: the default of `rehang why`.
const WINDOW: Span = Span::secs(1);
/// How long after a proof the look is taken: from a minute on, the diagnosis counts silence as such.
const AFTER_PROOF: Span = Span::secs(120);
/// How long an agent's start takes, in nanoseconds: a process that it starts later is not one of its helpers.
const STARTS_NS: u64 = 5_000_000_000;
/// The remote address of a model that no server plays, and the descriptor and inode that the kernel would give it.
const MODEL_AT: &str = "203.0.113.1:443";
const MODEL_FD: i32 = 1_001;
const MODEL_INODE: u64 = 40_000_000;
/// Steps between the two snapshots of a spin: every process of a spin takes some of them.
const SPUN: u32 = 68;
/// The name of the party that drives a server.
const CLIENT: &str = "client";
/// How often a model that thinks sends a sign of life, in milliseconds, and how long such an event is, in bytes
/// (Anthropic's `ping` events; a stream that stalls is always played by the model's server, which is a process).
const PING_MS: u64 = 15_000;
const PING_BYTES: u64 = 33;

/// When evidence of a cell is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Looks {
    /// Never.
    #[default]
    Never,
    /// When a hang is proved.
    AtHang,
    /// When a hang is proved, and at this interval of virtual time before.
    Every(Span),
}

/// One look at the processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// When it was taken, in virtual time since the cell began.
    pub at: VTime,
    /// Whether a hang was proved before it.
    pub at_hang: bool,
    /// The first snapshot.
    pub before: Snapshot,
    /// The second snapshot.
    pub after: Snapshot,
    /// What the two snapshots mean.
    pub diagnosis: Diagnosis,
}

impl Look {
    fn of(at: VTime, at_hang: bool, before: Snapshot, after: Snapshot) -> Look {
        let limits = Limits::default();
        let mut diagnosis = diagnose(&before, &after, &limits);
        // a server that waits for requests explains nothing: what does the party that drives it wait for?
        let client = after.around.values().find(|process| process.comm == CLIENT && !process.fds.is_empty());
        if let Some(client) = client.filter(|_| diagnosis.signature == Signature::Serves) {
            let from = |snapshot: &Snapshot| Snapshot { roots: vec![client.pid], ..snapshot.clone() };
            diagnosis = diagnose(&from(&before), &from(&after), &limits);
        }
        Look { at, at_hang, before, after, diagnosis }
    }
}

impl Hub<'_> {
    /// What the processes look like now, after the kernel has been told the time.
    pub(super) fn evidence_now(&mut self) -> Snapshot {
        self.kernel.set_now(self.now);
        self.evidence()
    }

    /// What the processes look like now.
    pub(super) fn evidence(&self) -> Snapshot {
        let reads =
            |at: usize| self.stream_open[at] && (self.reads[at] || self.launch.terminal == Terminal::StdoutSlow);
        let streams = [
            (self.streams.stdin, false),
            (self.streams.stdout, reads(0)),
            (self.streams.stderr, reads(1)),
            (self.streams.tty, reads(0)),
        ];
        let wrapper = streams.into_iter().filter_map(|(handle, reads)| Some((handle?, reads))).collect();
        let model = self.model_listener.into_iter().chain(self.model.handles()).map(|handle| (handle, true)).collect();
        let mut parties = vec![
            Party { name: "wrapper".into(), holds: wrapper, also: self.host },
            Party { name: CLIENT.into(), holds: Vec::new(), also: Also::Others },
            Party { name: "model".into(), holds: model, also: Also::Others },
        ];
        // a strategy or a person that asks the server is a process of its own
        let nobody = Party { name: Name::default(), holds: Vec::new(), also: Also::Others };
        parties.resize(parties.len() + self.inboxes.len(), nobody);
        for (seat, handle) in self.net.held() {
            let at = if seat == CLIENT_SEAT { 1 } else { 3 + seat };
            let Some(party) = parties.get_mut(at) else { continue };
            if party.name.is_empty() {
                party.name = format!("seat {seat}").into();
            }
            party.holds.push((handle, true));
        }
        let mut snapshot = self.kernel.snapshot(&parties);
        dress(&mut snapshot);
        self.burned.show(&mut snapshot, self.now);
        let mut agents = Vec::new();
        for pid in snapshot.related().map(|process| process.pid).collect::<Vec<Pid>>() {
            let Some(proc) = proc_of(pid) else { continue };
            let Some(records) = self.records.get(self.kernel.role(proc)) else { continue };
            if self.model_listener.is_none() {
                talk_to_model(&mut snapshot, pid, records, self.now);
            }
            // what an agent has asked its editor is heard; that a subagent asks, its log says alone
            if self.heard.is_some() && proc == self.agent && !records.asks_below() {
                continue;
            }
            let process = snapshot.process(pid);
            // one that fails a few times is asked again by the next look
            let fails = |path: &str| {
                self.faults.iter().any(|fault| matches!(fault, Fault::Get(get) if get.times == 0 && get.fits(path)))
            };
            agents.extend(process.and_then(|process| records.agent(process, &snapshot.sockets, &|path| !fails(path))));
        }
        snapshot.agents = agents;
        if let Some(heard) = &self.heard {
            heard.add_to(&mut snapshot);
        }
        snapshot
    }
}

/// Puts in the commands that fakes play, and shows agents as started earlier, so that they are up by now: for a snapshot
/// of fakes, of a kernel's tables and of `/proc` alike.
pub fn dress(snapshot: &mut Snapshot) {
    for process in snapshot.tree.values_mut().chain(snapshot.around.values_mut()) {
        if let Some(shown) = rehang_fakes::tool::shown(&process.args) {
            let words: Vec<String> = shown.split_whitespace().map(str::to_owned).collect();
            if let Some(first) = words.first() {
                process.comm = kind::stem(first).chars().take(15).collect();
                for thread in &mut process.threads {
                    thread.comm.clone_from(&process.comm);
                }
                process.args = words;
            }
        }
        if kind::of(process).is_some() {
            process.began_ns = process.began_ns.saturating_sub(STARTS_NS);
        }
    }
}

/// An agent that waits for its model has a connection to it; a fake that plays the model itself has none.
fn talk_to_model(snapshot: &mut Snapshot, pid: Pid, records: &Records, now: VTime) {
    let Some(talk) = records.talk() else { return };
    let Some(process) = snapshot.tree.get_mut(&pid) else { return };
    let inode = MODEL_INODE + pid.unsigned_abs() as u64;
    process.fds.push(Descriptor { fd: MODEL_FD, mode: Mode::Both, what: Object::Socket { inode } });
    // a server's event loop that does not even watch its listener is stuck: what its model says is not read
    let listens = process.listening(&snapshot.sockets).next().is_some();
    let is_stuck = listens && process.fds.iter().any(|fd| matches!(&fd.what, Object::Epoll { on } if on.is_empty()));
    for fd in process.fds.iter_mut().filter(|_| !is_stuck) {
        if let Object::Epoll { on } = &mut fd.what {
            on.push(Watch { fd: MODEL_FD, input: true, output: false });
        }
    }
    let quiet_ms = now.since(talk.heard.unwrap_or(talk.asked)).as_ms();
    let pings = quiet_ms / PING_MS;
    let traffic = Traffic {
        since_received_ms: quiet_ms % PING_MS,
        since_sent_ms: now.since(talk.asked).as_ms(),
        received_bytes: talk.bytes + pings * PING_BYTES,
        received_pieces: talk.pieces.saturating_add(u32::try_from(pings).unwrap_or(u32::MAX)),
        sent_bytes: talk.requests * 4_096,
        retransmits: 0,
    };
    let socket = Socket {
        inode,
        family: Family::Tcp,
        state: SocketState::Established,
        local: format!("192.0.2.1:{}", 32_768 + pid.unsigned_abs()),
        remote: MODEL_AT.to_owned(),
        unread: if is_stuck { traffic.received_bytes } else { 0 },
        traffic: Some(traffic),
        ..Socket::default()
    };
    snapshot.sockets.insert(inode, socket);
}

impl Scheduler<'_, '_> {
    /// Takes the looks that are due before `next`, a time in which only the clock changes.
    pub(super) fn look_until(&mut self, next: VTime) {
        let Looks::Every(every) = self.job.looks else { return };
        if every == Span::ZERO {
            return;
        }
        while let Some(at) = Some(self.next_look).filter(|at| *at < next) {
            self.next_look = at + every;
            if at < self.hub.now {
                continue;
            }
            let after = self.seen_at(at);
            let before = self.last_look.replace(after.clone()).unwrap_or_else(|| after.clone());
            self.looks.push(Look::of(self.cell_time(at), false, before, after));
        }
    }

    fn cell_time(&self, at: VTime) -> VTime {
        VTime(at.since(self.hub.begin).as_ms())
    }

    fn seen_at(&mut self, at: VTime) -> Snapshot {
        let now = std::mem::replace(&mut self.hub.now, at);
        self.hub.kernel.set_now(at);
        let snapshot = self.hub.evidence();
        self.hub.now = now;
        self.hub.kernel.set_now(now);
        snapshot
    }

    /// Takes a look at a deadlock: nothing can ever happen again, so a later look shows the same.
    pub(super) fn look_at_deadlock(&mut self) {
        if self.job.looks == Looks::Never {
            return;
        }
        let at = self.hub.now + AFTER_PROOF;
        let (before, after) = (self.seen_at(at), self.seen_at(at + WINDOW));
        self.looks.push(Look::of(self.cell_time(at + WINDOW), true, before, after));
    }

    /// Takes a look at a cycle that repeats for ever: the cycle is played on, and taken back.
    pub(super) fn look_at_lasso(&mut self, spins: bool) -> Result<(), InternalError> {
        if self.job.looks == Looks::Never {
            return Ok(());
        }
        let (now, events) = (self.hub.now, self.hub.events.len());
        (self.at_instant, self.hub.text_bytes, self.job.steps_max) = (0, 0, u64::MAX);
        let at = now + AFTER_PROOF;
        let look = if spins { self.spin()? } else { [self.play_until(at)?, self.play_until(at + WINDOW)?] };
        self.hub.events.truncate(events);
        self.hub.now = now;
        let [before, after] = look;
        self.looks.push(Look::of(self.cell_time(at + WINDOW), true, before, after));
        Ok(())
    }

    /// Plays up to this time and on until everything is at rest; returns the snapshot of then.
    fn play_until(&mut self, at: VTime) -> Result<Snapshot, InternalError> {
        loop {
            let next = match self.turn()? {
                Turn::Step => match self.spins()? {
                    Some(Spun::Until(next)) => Some(next),
                    Some(Spun::ForEver(_)) => None,
                    None => continue,
                },
                Turn::Rest(next) => next,
                Turn::GivenUp => None,
            };
            match next {
                Some(next) if next <= at => self.pass_to(next)?,
                _ => return Ok(self.seen_at(at.max(self.hub.now))),
            }
        }
    }

    /// Time does not pass, and steps are taken without end: on a machine this uses a whole processor.
    fn spin(&mut self) -> Result<[Snapshot; 2], InternalError> {
        let before = self.hub.evidence();
        for _ in 0..SPUN {
            if !matches!(self.turn()?, Turn::Step) {
                break;
            }
        }
        let mut after = self.hub.evidence();
        after.at_ns += WINDOW.as_ms() * 1_000_000;
        for (pid, process) in &mut after.tree {
            let turns = |snapshot: &Snapshot| {
                snapshot.tree.get(pid).and_then(|process| process.threads.first()).map_or(0, |thread| thread.switches)
            };
            let Some(first) = process.threads.first_mut() else { continue };
            if first.switches > turns(&before) {
                first.cpu_ns += WINDOW.as_ms() * 1_000_000;
                (process.state, first.state, first.call) = (State::Running, State::Running, None);
            }
        }
        Ok([before, after])
    }
}
