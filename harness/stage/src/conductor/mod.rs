//! The conductor: owns virtual time, lets one participant run at a time, and plays everything outside the agent.
//!
//! Invariants: time moves only when every participant is blocked and nothing is in flight; ties are a pure
//! function of the seed and the roles; a hang is proved (`proof`), never timed out; what enters the trace comes
//! from the conductor's own descriptors or is marked as a participant's claim.

mod client;
mod faults;
mod http;
mod hub;
mod model;
mod outside;
mod people;
mod proof;
mod wrapper;

use crate::world::{Proc, World, WorldFault};
pub use client::port_in;
pub use hub::serves;
use hub::{Actor, Hub, Input};
use proof::Proof;
use rehang_fakes::os::Sig;
use rehang_judge::trace::Ended;
use rehang_judge::{Trace, What};
use rehang_scenario::{Canon, Scenario, Span, Terminal, VTime};
use rehang_strategy::Member;
use std::collections::VecDeque;

/// Virtual time at which a cell that proves nothing is given up: two days.
const HORIZON: Span = Span::hours(48);
/// Steps at one instant behind which repeating states are looked for.
const SPIN_STEPS: u32 = 2_000;
/// Then every so manieth step is looked at: a cycle of steps is one of these samples too, at a fraction of the cost.
const SPIN_SAMPLE: u32 = 64;
/// Steps at one instant behind which the cell is given up.
const SPIN_MAX: u32 = 200_000;
/// Texts of a trace, in bytes: a file that repeats a long text fills a machine's memory within its steps.
const TEXT_MAX: usize = 128 << 20;
/// Instants of a cell behind which repeating states are looked for whatever is said between them. No run that comes to
/// an end by itself comes that far, and what has not repeated by the end of them grows.
const LOOP_INSTANTS: std::ops::Range<u32> = 6_000..6_500;
/// Steps of a cell behind which it is given up, where a job does not say less.
pub const STEPS_MAX: u64 = 2_000_000;
/// How long a server has to go away after SIGTERM.
const SHUTDOWN_GRACE: Span = Span::secs(10);

/// A cell to run.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The scenario, with the arm applied.
    pub scenario: &'a Scenario,
    /// The stack's spec.
    pub stack: &'a str,
    /// How the agent's streams are connected.
    pub terminal: Terminal,
    /// Decides ties.
    pub seed: u64,
    /// Shifts the begin of virtual time: a verdict must not depend on it.
    pub begin: VTime,
    /// Steps behind which it is given up with the end `horizon`: [`STEPS_MAX`], or less for a search.
    pub steps_max: u64,
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The trace.
    pub trace: Trace,
    /// How often a participant was let run.
    pub steps: u64,
}

/// Why a cell could not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// rehang's own fault, or a fake that lies.
    #[error(transparent)]
    World(#[from] WorldFault),
    /// The stack cannot be made, or has no seat in this agent.
    #[error("{0}")]
    Stack(String),
}

/// Runs a cell.
///
/// # Errors
/// A stack that cannot be made; rehang's own fault.
pub fn run(world: &mut dyn World, job: &Job<'_>) -> Result<Record, RunError> {
    let mut conductor = Conductor::new(world, job)?;
    let result = conductor.drive();
    let steps = conductor.steps;
    let trace = Trace { events: std::mem::take(&mut conductor.hub.events) };
    match result {
        Ok(()) => Ok(Record { trace, steps }),
        Err(fault) => {
            // the next cell must find an empty world, whatever happened in this one
            let _ = conductor.hub.world.clear();
            Err(fault.into())
        }
    }
}

/// The wrapper's seat.
const WRAPPER: usize = 0;

/// Someone in the conductor: an actor, what it has been told, and its name.
struct Seat {
    name: String,
    actor: Box<dyn Actor>,
}

struct Conductor<'w, 'j> {
    hub: Hub<'w>,
    job: Job<'j>,
    seats: Vec<Seat>,
    steps: u64,
}

/// Who can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Candidate {
    Process(Proc),
    Actor(usize),
}

impl<'w, 'j> Conductor<'w, 'j> {
    fn new(world: &'w mut dyn World, job: &Job<'j>) -> Result<Conductor<'w, 'j>, RunError> {
        let (inside, outside) = parts(job)?;
        let mut hub = Hub::new(world, job, inside)?;
        let mut seats: Vec<Seat> = Vec::new();
        let sends_prompt = outside.iter().any(|member| member.strategy.sends_prompt());
        seats.push(Seat { name: "wrapper".into(), actor: Box::new(wrapper::Wrapper::new(job)) });
        seats.push(Seat { name: "client".into(), actor: client::actor(job, sends_prompt) });
        seats.push(Seat { name: "fault".into(), actor: Box::new(faults::Faults::new(job.scenario, job.begin)) });
        if hub.model_listener.is_some() {
            seats.push(Seat { name: "model".into(), actor: Box::new(model::Model::new(job.scenario)) });
        }
        for (at, person) in job.scenario.people.iter().enumerate() {
            let name = format!("person{}", at + 1);
            seats.push(Seat { actor: Box::new(people::Someone::new(person, seats.len(), &name, job)), name });
        }
        for member in outside {
            let name = member.spec.to_string();
            if member.strategy.relays() {
                hub.relay = Some(seats.len());
            }
            let actor = outside::Outside::new(member, seats.len(), job);
            hub.strategies.push(seats.len());
            seats.push(Seat { name, actor: Box::new(actor) });
        }
        hub.inboxes = seats.iter().map(|_| VecDeque::new()).collect();
        Ok(Conductor { hub, job: *job, seats, steps: 0 })
    }

    fn drive(&mut self) -> Result<(), WorldFault> {
        self.hub.launch()?;
        for at in 0..self.seats.len() {
            self.hub.inboxes[at].push_back(Input::Begin);
        }
        let mut proof = Proof::default();
        // within an instant it does not matter what is said: a state that comes back comes back for ever
        let mut spin = Proof::default();
        let mut at_instant = 0_u32;
        // Nor does it behind very many instants: a retry that says its half of an answer again is no progress.
        let mut loops = Proof::default();
        let mut instants = 0_u32;
        while !self.hub.is_over() {
            if self.step()? {
                if self.hub.run_over {
                    self.begin_again()?;
                }
                if self.hub.text_bytes > TEXT_MAX {
                    return self.give_up("what it says fills more than 128 MiB");
                }
                at_instant += 1;
                if at_instant > SPIN_MAX || self.steps > self.job.steps_max {
                    return self.give_up("it takes steps without end and no time passes");
                }
                let sampled = at_instant > SPIN_STEPS && at_instant.is_multiple_of(SPIN_SAMPLE);
                if sampled && self.repeats(&mut spin)?.is_some() {
                    return self.hang(Ended::Lasso { waits: self.waits(), cycle_ms: 0 });
                }
                continue;
            }
            at_instant = 0;
            spin = Proof::default();
            let next = self.next_deadline();
            if let Some(end) = self.hub.ends_at() {
                // It is settled: nothing can hang any more.
                self.hub.now = next.unwrap_or(end).min(end).max(self.hub.now);
                self.hub.drain()?;
                continue;
            }
            let Some(next) = next else {
                return self.hang(Ended::Deadlock(self.waits()));
            };
            if proof.is_due(self.hub.material)
                && let Some(cycle) = self.repeats(&mut proof)?
            {
                return self.hang(Ended::Lasso { waits: self.waits(), cycle_ms: cycle.as_ms() });
            }
            instants = instants.saturating_add(1);
            if LOOP_INSTANTS.contains(&instants)
                && let Some(cycle) = self.repeats(&mut loops)?
            {
                return self.hang(Ended::Lasso { waits: self.waits(), cycle_ms: cycle.as_ms() });
            }
            if next.since(self.hub.begin) > HORIZON {
                return self.give_up("virtual time ran out");
            }
            self.hub.now = next.max(self.hub.now);
            self.hub.drain()?;
        }
        self.finish()
    }

    /// Lets one candidate go on; false where there is none at this instant.
    fn step(&mut self) -> Result<bool, WorldFault> {
        let mut candidates: Vec<(Candidate, u64)> = Vec::new();
        for proc in self.hub.world.ready(self.hub.now)? {
            let rank = rank(self.job.seed, self.hub.world.role(proc));
            candidates.push((Candidate::Process(proc), rank));
        }
        for (at, seat) in self.seats.iter().enumerate() {
            let due = seat.actor.deadline().is_some_and(|t| t <= self.hub.now);
            if due || !self.hub.inboxes[at].is_empty() {
                candidates.push((Candidate::Actor(at), rank(self.job.seed, &seat.name)));
            }
        }
        // A strategy outside stands in for the wrapper: the baseline has its word where no strategy has anything to do.
        let strategies = &self.hub.strategies;
        if candidates.iter().any(|(who, _)| matches!(who, Candidate::Actor(at) if strategies.contains(at))) {
            candidates.retain(|(who, _)| *who != Candidate::Actor(WRAPPER));
        }
        let Some(&(chosen, _)) = candidates.iter().min_by_key(|(_, rank)| *rank) else { return Ok(false) };
        self.steps += 1;
        match chosen {
            Candidate::Process(proc) => self.hub.world.run(proc, self.hub.now)?,
            Candidate::Actor(at) => {
                let inbox = std::mem::take(&mut self.hub.inboxes[at]);
                let seat = &mut self.seats[at];
                self.hub.actor = at;
                seat.actor.act(&mut self.hub, &seat.name, inbox)?;
            }
        }
        self.hub.drain()?;
        self.hub.admit_client();
        Ok(true)
    }

    /// The caller's loop: this run is over, and the next begins. Who watched it is gone; who answers is still there.
    fn begin_again(&mut self) -> Result<(), WorldFault> {
        self.hub.run_over = false;
        self.land(self.hub.now)?;
        self.hub.material += 1;
        if !self.hub.serves {
            self.hub.close_streams()?;
        }
        let run = Job { begin: self.hub.now, ..self.job };
        let Ok((_, mut outside)) = parts(&run) else { return Ok(()) };
        let sends_prompt = outside.iter().any(|member| member.strategy.sends_prompt());
        let strategies = self.hub.strategies.clone();
        for at in [WRAPPER, hub::CLIENT_SEAT].into_iter().chain(strategies.iter().copied()) {
            self.hub.close_connections(at)?;
            self.hub.inboxes[at].clear();
        }
        self.seats[WRAPPER].actor = Box::new(wrapper::Wrapper::new(&run));
        self.seats[hub::CLIENT_SEAT].actor = client::next(&run, sends_prompt, &self.hub.session);
        for at in strategies.iter().rev() {
            let Some(member) = outside.pop() else { continue };
            if !member.strategy.outlives_run() {
                self.seats[*at].actor = Box::new(outside::Outside::new(member, *at, &run));
            }
        }
        if !self.hub.serves {
            self.hub.relaunch()?;
            self.hub.asks.clear();
        }
        for at in 0..self.seats.len() {
            self.hub.tell(at, Input::Begin);
        }
        if self.hub.serves {
            for at in [hub::CLIENT_SEAT].into_iter().chain(strategies) {
                self.hub.tell(at, Input::Listening);
                if at != hub::CLIENT_SEAT {
                    self.hub.tell(at, Input::SessionMade(self.hub.session.clone()));
                }
            }
        }
        Ok(())
    }

    fn next_deadline(&self) -> Option<VTime> {
        let actors = self.seats.iter().filter_map(|seat| seat.actor.deadline());
        let network = self.hub.net.deadline();
        self.hub.world.deadline().into_iter().chain(actors).chain(network).min()
    }

    /// The cycle's length, if the whole state at this instant is the one that this proof keeps.
    fn repeats(&mut self, proof: &mut Proof) -> Result<Option<Span>, WorldFault> {
        let (own, now) = (self.state(), self.hub.now);
        let world = || {
            let mut canon = Canon::new(now);
            self.hub.world.canon(&mut canon)?;
            Ok(canon.into_bytes())
        };
        proof.repeats(own, world, now)
    }

    /// The conductor's own state at this instant, canonically.
    fn state(&self) -> Vec<u8> {
        let mut canon = Canon::new(self.hub.now);
        for (seat, inbox) in self.seats.iter().zip(&self.hub.inboxes) {
            seat.actor.canon(&mut canon);
            // Empty wherever time may move. Within an instant, how much somebody has not taken in tells two steps apart;
            // the words themselves may hold ids, which no cycle repeats.
            canon.num(inbox.len() as u64);
        }
        self.hub.canon(&mut canon);
        canon.into_bytes()
    }

    fn waits(&self) -> Vec<(String, String)> {
        let mut waits = self.hub.world.waits();
        for seat in &self.seats {
            if let Some(on) = seat.actor.waits_for() {
                waits.push((seat.name.clone(), on.to_owned()));
            }
        }
        waits
    }

    fn hang(&mut self, ended: Ended) -> Result<(), WorldFault> {
        self.hub.say("conductor", What::Ended(ended));
        self.hub.world.clear()?;
        Ok(())
    }

    fn give_up(&mut self, why: &str) -> Result<(), WorldFault> {
        let waits = self.waits();
        let who: Vec<String> = waits.iter().map(|(role, on)| format!("{role}: {on}")).collect();
        self.hang(Ended::Horizon(format!("{why} ({})", who.join(", "))))
    }

    /// The run is settled: what is in flight lands, a server is shut down, and what is left is named.
    fn finish(&mut self) -> Result<(), WorldFault> {
        self.land(self.hub.now)?;
        if self.hub.serves && self.hub.agent_alive() {
            self.hub.signal("client", false, Sig::Term)?;
            self.land(self.hub.now + SHUTDOWN_GRACE)?;
        }
        self.hub.say("conductor", What::Ended(Ended::Settled));
        for left in self.hub.world.clear()? {
            let what = format!("process {}", left.argv.first().map_or("", String::as_str));
            self.hub.say(&left.role, What::Left { what });
        }
        Ok(())
    }

    /// Lets the processes alone go on, until a time or until the agent is gone.
    fn land(&mut self, until: VTime) -> Result<(), WorldFault> {
        for _ in 0..SPIN_MAX {
            let ready = self.hub.world.ready(self.hub.now)?;
            let next = ready.into_iter().min_by_key(|&proc| rank(self.job.seed, self.hub.world.role(proc)));
            match (next, self.hub.world.deadline()) {
                (Some(proc), _) => {
                    self.steps += 1;
                    self.hub.world.run(proc, self.hub.now)?;
                    self.hub.drain()?;
                }
                (None, Some(next)) if next <= until && self.hub.agent_alive() => self.hub.now = next,
                (None, _) => break,
            }
        }
        Ok(())
    }
}

/// The stack's members: the specs of those inside, and those outside.
fn parts(job: &Job<'_>) -> Result<(Vec<String>, Vec<Member>), RunError> {
    let stack = rehang_strategy::stack(job.stack).map_err(|e| RunError::Stack(e.to_string()))?;
    Ok(stack.seat_in(&job.scenario.agent).map_err(RunError::Stack)?.split())
}

/// The order of candidates: seeds 2k-1 and 2k are each other's reverse, so that two seeds give both orders of any tie.
fn rank(seed: u64, role: &str) -> u64 {
    let pair = seed.div_ceil(2);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in role.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 29;
    if seed.is_multiple_of(2) { !hash } else { hash }
}
