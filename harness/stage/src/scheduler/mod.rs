//! The scheduler: owns virtual time, lets one participant run at a time, and plays everything outside the agent.
//!
//! Invariants: time moves only when every participant is blocked and nothing is in flight; ties are a pure
//! function of the order (`ties`) and the roles; a hang is proved (`proof`), never timed out; what enters the trace comes
//! from the scheduler's own descriptors or is marked as a participant's claim.

mod asks;
mod drain;
mod ends;
mod evidence;
mod faults;
mod horizon;
mod http;
mod hub;
mod inbox;
mod model;
mod model_net;
mod net;
mod played;
mod ports;
mod proof;
mod spin;
mod ties;
mod tools;
mod wrapper;
mod wrapper_host;

pub use evidence::{Look, Looks, dress};
use hub::{Actor, Hub};
use inbox::{Inbox, Input};
pub use ports::port_in;
use proof::{Cycle, Half, Place, Proof};
pub use proof::{Proofs, State};
use rehang_os::kernel::{Few, InternalError, Kernel, Proc};
use rehang_scenario::{Canon, Order, Scenario, Span, Terminal, TieChoice, VTime};
use rehang_strategy::{Member, SeatError, SpecError};
use rehang_trace::{Ended, Event, Horizon, Trace, What, role::SCHEDULER};
use spin::{Spin, Spun};
pub use ties::{LATE, Misfit, NEAR, Pick, Tie, Watch};
use ties::{Ties, rank};

/// Steps at one instant after which the cell is given up: an agent that grows with each step, as one whose model never
/// rests does, takes ten times as long for twice as many.
const SPIN_MAX: u32 = 50_000;
/// Texts of a trace and of requests to a model, in bytes, after which a cell is given up, unless a job says less: a file
/// that repeats a long text fills a machine's memory within its steps, and so does a model that never rests.
pub const TEXT_MAX: usize = 128 << 20;
/// The instants of a cell among which repeating states are looked for although something material happens between them:
/// an agent that begins the same answer again and again says something each time. A state that has not repeated by the
/// end of the first of them rarely does later, and by the end of the last it grows or counts: it is not compared any more.
const LOOP_INSTANTS: [std::ops::Range<u32>; 2] = [200..330, 6_000..6_500];
/// Steps of a cell after which it is given up, unless a job says less.
pub const STEPS_MAX: u64 = 2_000_000;
/// How long a server may take to end after SIGTERM.
const SHUTDOWN_GRACE: Span = Span::secs(10);

/// The description of a cell to run.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The scenario, with the arm applied.
    pub scenario: &'a Scenario,
    /// The stack's spec.
    pub stack: &'a str,
    /// How the agent's streams are connected.
    pub terminal: Terminal,
    /// Decides the order of candidates at one instant.
    pub seed: u64,
    /// The ties at which another candidate runs, sorted: those of an [`Order`].
    pub choices: &'a [TieChoice],
    /// Shifts the start of virtual time: a verdict must not depend on it.
    pub begin: VTime,
    /// Steps after which it is given up with the end `horizon`: [`STEPS_MAX`], or less for a search.
    pub steps_max: u64,
    /// Bytes of its texts after which it is given up: [`TEXT_MAX`], or less for a search.
    pub text_max: usize,
    /// How claimed proofs are treated.
    pub proofs: Proofs,
    /// When evidence is taken. It changes no trace.
    pub looks: Looks,
}

impl<'a> Job<'a> {
    /// The order of its ties.
    pub fn order(&self) -> Order {
        let plain = Order::from(self.seed);
        self.choices.iter().fold(plain, |order, choice| order.clone().then(*choice).unwrap_or(order))
    }

    /// A cell from the beginning of virtual time, with the limits that all cells have.
    pub fn new(scenario: &'a Scenario, stack: &'a str, terminal: Terminal, seed: u64) -> Job<'a> {
        let (begin, proofs) = (VTime::ZERO, Proofs::default());
        let (steps_max, text_max, looks) = (STEPS_MAX, TEXT_MAX, Looks::Never);
        Job { scenario, stack, terminal, seed, choices: &[], begin, steps_max, text_max, proofs, looks }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The trace of the run.
    pub trace: Trace,
    /// How often a participant was let run.
    pub steps: u64,
    /// The evidence that was taken.
    pub looks: Vec<Look>,
}

/// Why a cell could not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// An internal error, or a fake whose announcement is false.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// The stack cannot be made.
    #[error(transparent)]
    Stack(#[from] SpecError),
    /// The stack cannot be used with this agent.
    #[error(transparent)]
    Seat(#[from] SeatError),
    /// The order does not fit the cell.
    #[error(transparent)]
    Order(#[from] Misfit),
}

/// Runs a cell.
///
/// # Errors
/// A stack that cannot be made; an order that does not fit; an internal error.
pub fn run(kernel: &mut dyn Kernel, job: &Job<'_>) -> Result<Record, RunError> {
    let mut scheduler = Scheduler::new(kernel, job)?;
    let result = scheduler.drive();
    let Ties { count, made, misfit, .. } = &mut scheduler.ties;
    let left = job.choices.get(*made).map(|&choice| Misfit::NoTie { choice, ties: *count });
    let misfit = misfit.take().or(left);
    let record = scheduler.recorded(result)?;
    misfit.map_or(Ok(record), |misfit| Err(misfit.into()))
}

/// Runs a cell whose ties `watch` decides; `None` if that broke it off.
///
/// # Errors
/// A stack that cannot be made; an internal error.
pub fn run_watched(kernel: &mut dyn Kernel, job: &Job<'_>, watch: &mut dyn Watch) -> Result<Option<Record>, RunError> {
    let mut scheduler = Scheduler::new(kernel, job)?;
    scheduler.ties.watch = Some(watch);
    let result = scheduler.drive();
    let is_cut = scheduler.ties.is_cut;
    let record = scheduler.recorded(result)?;
    Ok((!is_cut).then_some(record))
}

/// Whether a cell has this trace: it is run no further than to the first turn that says something else.
///
/// # Errors
/// A stack that cannot be made; an internal error.
pub fn has_trace(kernel: &mut dyn Kernel, job: &Job<'_>, trace: &Trace) -> Result<bool, RunError> {
    let mut scheduler = Scheduler::new(kernel, job)?;
    scheduler.expected = Some(Expected { events: &trace.events, met: 0 });
    let result = scheduler.drive();
    // one that was cut has an event that this trace has not
    Ok(scheduler.recorded(result)?.trace == *trace)
}

/// The index of the wrapper's seat.
const WRAPPER: usize = 0;

/// A party in the scheduler: an actor and its name. Its inbox is in the hub.
struct Seat {
    name: String,
    actor: Box<dyn Actor>,
}

/// The trace that a cell should have.
struct Expected<'j> {
    events: &'j [Event],
    /// How many of them it has had.
    met: usize,
}

struct Scheduler<'w, 'j> {
    hub: Hub<'w>,
    job: Job<'j>,
    expected: Option<Expected<'j>>,
    ties: Ties<'w>,
    seats: Vec<Seat>,
    spin: Spin,
    steps: u64,
    /// Steps taken at this instant.
    at_instant: u32,
    /// How many times everything was at rest.
    instants: u32,
    /// When the cell is given up, once that matters.
    horizon: Option<Span>,
    /// The evidence taken so far.
    looks: Vec<Look>,
    /// What was last seen, and when the next look is due.
    last_look: Option<rehang_evidence::Snapshot>,
    next_look: VTime,
}

/// The result of one turn of the loop.
enum Turn {
    /// A process or an actor ran.
    Step,
    /// Everything is at rest until this time, or for ever.
    Rest(Option<VTime>),
    /// The cell was given up.
    GivenUp,
}

/// What can run next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Candidate {
    Process(Proc),
    Actor(usize),
}

impl<'w, 'j> Scheduler<'w, 'j> {
    fn new(kernel: &'w mut dyn Kernel, job: &Job<'j>) -> Result<Scheduler<'w, 'j>, RunError> {
        let (inside, outside) = parts(job)?;
        let mut hub = Hub::new(kernel, job, inside)?;
        let mut seats: Vec<Seat> = Vec::new();
        let sends_prompt = outside.iter().any(|member| member.strategy.sends_prompt());
        seats.push(Seat { name: "wrapper".into(), actor: Box::new(wrapper::Wrapper::new(job)) });
        seats.push(Seat { name: "client".into(), actor: played::client(job, sends_prompt) });
        seats.push(Seat { name: "fault".into(), actor: Box::new(faults::Faults::new(job.scenario, job.begin)) });
        if hub.model_listener.is_some() {
            seats.push(Seat { name: "model".into(), actor: Box::new(model::Model::new(job.scenario)) });
        }
        for (at, person) in job.scenario.people.iter().enumerate() {
            let name = format!("person{}", at + 1);
            seats.push(Seat { actor: played::person(person, job), name });
        }
        for member in outside {
            let name = member.spec.to_string();
            if member.strategy.relays() {
                hub.relay = Some(seats.len());
            }
            let actor = wrapper_host::WrapperHost::new(member, seats.len(), job);
            hub.strategies.push(seats.len());
            seats.push(Seat { name, actor: Box::new(actor) });
        }
        hub.inboxes = seats.iter().map(|_| Inbox::default()).collect();
        Ok(Scheduler {
            hub,
            job: *job,
            expected: None,
            ties: Ties::default(),
            seats,
            spin: Spin::default(),
            steps: 0,
            at_instant: 0,
            instants: 0,
            horizon: None,
            looks: Vec::new(),
            last_look: None,
            next_look: job.begin,
        })
    }

    /// The record of a run that was driven to its end.
    fn recorded(&mut self, result: Result<(), InternalError>) -> Result<Record, RunError> {
        if result.is_err() || self.ties.is_cut {
            // the next cell must find an empty world, however this one ended
            let cleared = self.hub.kernel.clear();
            result?;
            cleared?;
        }
        let trace = Trace { events: std::mem::take(&mut self.hub.events) };
        Ok(Record { trace, steps: self.steps, looks: std::mem::take(&mut self.looks) })
    }

    fn drive(&mut self) -> Result<(), InternalError> {
        self.hub.start_tools()?;
        self.hub.launch()?;
        for at in 0..self.seats.len() {
            self.hub.inboxes[at].push(Input::Begin);
        }
        // across many instants, as within one, it does not matter what is said: a state that repeats once repeats for ever
        let (mut proof, mut loops) = (Proof::default(), Proof::default());
        while !self.hub.is_over() {
            let turn = self.turn()?;
            if self.strays() {
                self.ties.is_cut = true;
                return Ok(());
            }
            if std::mem::take(&mut self.ties.has_chosen) {
                (proof, loops) = (Proof::default(), Proof::default());
                self.spin.begin();
            }
            let next = match turn {
                Turn::GivenUp => return Ok(()),
                Turn::Step => match self.spins()? {
                    Some(Spun::Until(next)) => Some(next),
                    Some(Spun::ForEver(cycle)) if self.job.proofs != Proofs::Off => {
                        return self.claim(&cycle, Unit::Steps);
                    }
                    Some(Spun::ForEver(_)) | None => continue,
                },
                Turn::Rest(next) => next,
            };
            if let Some(end) = self.hub.ends_at() {
                // The run is settled: it cannot hang any more.
                self.pass_to(next.unwrap_or(end).min(end))?;
                continue;
            }
            let Some(next) = next else {
                self.look_at_deadlock();
                return self.hang(Ended::Deadlock(self.waits()));
            };
            if self.job.proofs != Proofs::Off {
                let instant = u64::from(self.instants);
                let mut cycle = None;
                if proof.is_due(self.hub.material) {
                    cycle = self.repeats(&mut proof, instant)?;
                }
                if cycle.is_none() && LOOP_INSTANTS.iter().any(|range| range.contains(&self.instants)) {
                    if LOOP_INSTANTS.iter().any(|range| range.start == self.instants) {
                        loops = Proof::default();
                    }
                    cycle = self.repeats(&mut loops, instant)?;
                }
                if let Some(cycle) = cycle {
                    return self.claim(&cycle, Unit::Instants);
                }
            }
            if next.since(self.hub.begin) > horizon::SHORTEST {
                let job = &self.job;
                let horizon = *self.horizon.get_or_insert_with(|| horizon::of(job.scenario, job.stack));
                if next.since(self.hub.begin) > horizon {
                    return self.give_up(Horizon::Time);
                }
            }
            let Some(next) = self.moment(next)? else { return Ok(()) };
            self.pass_to(next)?;
        }
        self.finish()
    }

    /// Whether something has happened that was not expected.
    fn strays(&mut self) -> bool {
        let Some(Expected { events, met }) = &mut self.expected else { return false };
        let new = std::mem::replace(met, self.hub.events.len())..*met;
        self.hub.events.get(new.clone()) != events.get(new)
    }

    /// Lets one candidate run, or says until when everything is at rest.
    fn turn(&mut self) -> Result<Turn, InternalError> {
        if !self.step()? {
            self.at_instant = 0;
            self.instants = self.instants.saturating_add(1);
            self.spin.rest();
            return Ok(Turn::Rest(self.next_deadline()));
        }
        if self.hub.run_over {
            self.begin_again()?;
        }
        if self.ties.is_cut {
            return Ok(Turn::GivenUp);
        }
        if self.hub.text_bytes > self.job.text_max {
            self.give_up(Horizon::Text)?;
            return Ok(Turn::GivenUp);
        }
        self.at_instant += 1;
        if self.at_instant > SPIN_MAX || self.steps > self.job.steps_max {
            self.give_up(Horizon::Steps)?;
            return Ok(Turn::GivenUp);
        }
        Ok(Turn::Step)
    }

    /// Moves virtual time to this instant.
    fn pass_to(&mut self, next: VTime) -> Result<(), InternalError> {
        self.burn(next);
        self.look_until(next);
        self.hub.now = next.max(self.hub.now);
        self.hub.kernel.set_now(self.hub.now);
        self.hub.drain()
    }

    /// The state has repeated: it is a hang, if the cycle is the same when it is played once more.
    fn claim(&mut self, cycle: &Cycle, unit: Unit) -> Result<(), InternalError> {
        let (now, waits, events) = (self.hub.now, self.waits(), self.hub.events.len());
        if self.job.proofs == Proofs::Replayed {
            self.replay(cycle, unit)?;
            self.hub.events.truncate(events);
            self.hub.now = now;
        }
        self.look_at_lasso(unit == Unit::Steps)?;
        self.hang(Ended::Lasso { waits, cycle_ms: cycle.span().as_ms() })
    }

    /// Plays a cycle once more, as a check.
    fn replay(&mut self, cycle: &Cycle, unit: Unit) -> Result<(), InternalError> {
        let fails = |why: String| InternalError::Proof { cycle_ms: cycle.span().as_ms(), why };
        // the limits are those of a cell: what is played again does not count towards them
        (self.at_instant, self.hub.text_bytes, self.job.steps_max) = (0, 0, u64::MAX);
        self.ties.is_replay = true;
        let mut left = cycle.length();
        // at the place where an instant's state was taken, time is about to move
        let mut rests = (unit == Unit::Instants).then(|| self.next_deadline());
        while left > 0 {
            match rests.take() {
                Some(Some(next)) => self.pass_to(next)?,
                Some(None) => return Err(fails("it comes to a deadlock".to_owned())),
                None => {}
            }
            match self.turn()? {
                Turn::GivenUp => return Err(fails("it takes steps without end".to_owned())),
                Turn::Step if unit == Unit::Steps => left -= 1,
                Turn::Step => {
                    if let Some(Spun::Until(next)) = self.spins()? {
                        left -= 1;
                        rests = Some(Some(next));
                    }
                }
                Turn::Rest(_) if unit == Unit::Steps => return Err(fails("it comes to rest".to_owned())),
                Turn::Rest(next) => {
                    left -= 1;
                    rests = Some(next);
                }
            }
            if self.hub.is_over() {
                return Err(fails("it comes to an end".to_owned()));
            }
        }
        let state = self.whole_state()?;
        if self.hub.now.since(cycle.to.now) != cycle.span() {
            return Err(fails(format!("it takes {} the second time", self.hub.now.since(cycle.to.now))));
        }
        if let Some(at) = cycle.differs(&self.hub.events) {
            return Err(fails(format!("event {at} of the cycle differs the second time")));
        }
        if state != cycle.state {
            return Err(fails("its state differs the second time".to_owned()));
        }
        Ok(())
    }

    /// Who can go on at this instant, each with its rank.
    fn candidates(&mut self) -> Result<Few<(Candidate, u64)>, InternalError> {
        let mut candidates = Few::new();
        for proc in self.hub.kernel.ready(self.hub.now)? {
            let rank = rank(self.job.seed, self.hub.kernel.role(proc));
            candidates.push((Candidate::Process(proc), rank));
        }
        for (at, seat) in self.seats.iter().enumerate() {
            let due = seat.actor.deadline().is_some_and(|t| t <= self.hub.now);
            if due || !self.hub.inboxes[at].is_empty() {
                candidates.push((Candidate::Actor(at), rank(self.job.seed, &seat.name)));
            }
        }
        // A strategy outside takes the wrapper's place: the baseline acts only if no strategy has anything to do.
        let strategies = &self.hub.strategies;
        if candidates.iter().any(|(who, _)| matches!(who, Candidate::Actor(at) if strategies.contains(at))) {
            candidates.retain(|(who, _)| *who != Candidate::Actor(WRAPPER));
        }
        Ok(candidates)
    }

    /// Lets one candidate go on; false if there is none at this instant.
    fn step(&mut self) -> Result<bool, InternalError> {
        let mut candidates = self.candidates()?;
        if candidates.is_empty() {
            return Ok(false);
        }
        self.spin.admit(&mut candidates);
        let Some(chosen) = self.pick(candidates, None)? else { return Ok(true) };
        self.steps += 1;
        self.spin.runs(chosen, self.at_instant + 1);
        match chosen {
            Candidate::Process(proc) => self.hub.kernel.run(proc, self.hub.now)?,
            Candidate::Actor(at) => {
                let inbox = self.hub.inboxes[at].take();
                let seat = &mut self.seats[at];
                self.hub.actor = at;
                seat.actor.act(&mut self.hub, &seat.name, inbox)?;
            }
        }
        self.hub.drain()?;
        self.hub.admit_client();
        Ok(true)
    }

    fn next_deadline(&self) -> Option<VTime> {
        self.deadline_after(self.hub.now)
    }

    /// The earliest time after this one at which something is due. (What goes in circles may want to go on now.)
    fn deadline_after(&self, after: VTime) -> Option<VTime> {
        let actors = self.seats.iter().filter_map(|seat| seat.actor.deadline());
        let network = self.hub.net.deadline();
        let later = actors.chain(network).filter(|at| *at > after);
        self.hub.kernel.deadline(after).into_iter().chain(later).min()
    }

    /// The cycle, if the whole state at this place is the one that this proof keeps, and no process that the cycle
    /// started was at a tie: in the next round it has another name, which may decide otherwise.
    fn repeats(&mut self, proof: &mut Proof, ordinal: u64) -> Result<Option<Cycle>, InternalError> {
        self.hub.kernel.set_now(self.hub.now);
        let place = Place { now: self.hub.now, ordinal, events: self.hub.events.len(), spawned: self.hub.spawned };
        let cycle = proof.repeats(place, |half, canon| self.write_state(half, canon))?;
        Ok(cycle.filter(|cycle| self.ties.newest <= cycle.from.spawned))
    }

    fn whole_state(&mut self) -> Result<State, InternalError> {
        self.hub.kernel.set_now(self.hub.now);
        State::of(self.hub.now, |half, canon| self.write_state(half, canon))
    }

    /// Writes a half of the state at this instant, canonically: the scheduler's own, or that of all processes and of
    /// everything in flight between them.
    fn write_state(&mut self, half: Half, canon: &mut Canon) -> Result<(), InternalError> {
        if half == Half::Kernel {
            return self.hub.kernel.canon(canon);
        }
        // first what most often differs, and costs least: what is left until each deadline
        for seat in &self.seats {
            canon.deadline(seat.actor.deadline());
        }
        canon.deadline(self.hub.kernel.deadline(self.hub.now));
        if canon.differs() {
            return Ok(());
        }
        self.hub.canon(canon);
        self.spin.canon(canon);
        // empty whenever time may move, but not at a sample of a spin
        for inbox in &mut self.hub.inboxes {
            inbox.canon(canon);
        }
        for seat in &self.seats {
            let Seat {
                name: _, // not compared: it never changes
                actor,
            } = seat;
            if canon.differs() {
                break;
            }
            actor.canon(&self.hub, canon);
        }
        Ok(())
    }

    fn waits(&self) -> Vec<(String, String)> {
        let mut waits = self.hub.kernel.waits();
        for seat in &self.seats {
            if let Some(on) = seat.actor.waits_for() {
                waits.push((seat.name.clone(), on.to_owned()));
            }
        }
        waits
    }

    fn hang(&mut self, ended: Ended) -> Result<(), InternalError> {
        self.hub.record(SCHEDULER, What::Ended(ended));
        self.hub.kernel.clear()?;
        Ok(())
    }

    fn give_up(&mut self, reason: Horizon) -> Result<(), InternalError> {
        let waits = self.waits();
        self.hang(Ended::Horizon { reason, waits })
    }
}

/// The unit of a cycle's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Steps within one instant.
    Steps,
    /// Instants.
    Instants,
}

/// The stack's members: the specs of those inside, and those outside.
fn parts(job: &Job<'_>) -> Result<(Vec<String>, Vec<Member>), RunError> {
    Ok(rehang_strategy::stack(job.stack)?.seat_in(&job.scenario.agent.wires())?.split())
}
