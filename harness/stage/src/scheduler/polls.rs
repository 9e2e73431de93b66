//! Polls whose answer cannot be another one than the last time: they are not carried out again.
//!
//! Invariants: an answer is kept only if the exchange that brought it left everything as it was: the server's turn brought
//! the answers and nothing else, and the state of all processes, with every instant in it, was the same after it. It is
//! kept only while nothing happens but such exchanges and heartbeats, and it is given only where the state is still the
//! same after those. A poll that is
//! not carried out has the same events, the same step and the same ties as one that is: if anything comes between it and
//! the server's turn, it is carried out before that.

use super::hub::Hub;
use super::{Candidate, Job, Scheduler};
use rehang_os::kernel::{InternalError, Proc};
use rehang_os::os::Write;
use rehang_scenario::{Canon, Span, VTime};
use rehang_trace::{Event, Json, What};
use rehang_wire::opencode::kind::HEARTBEAT;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Which polls are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Polls {
    /// All.
    #[default]
    All,
    /// Those whose answer may have changed.
    Changed,
}

/// How many more states may be written in a cell than there were polls that this has saved: in a cell whose server never
/// rests, it saves none.
const STATES_SPARE: u64 = 16;

/// What an exchange brought.
#[derive(Debug)]
pub struct Exchange {
    pub status: u16,
    pub body: Json,
    /// How long the request and the answer were, in bytes.
    pub request: u64,
    pub answer: u64,
}

/// The answer to a poll that is not sent.
#[derive(Debug)]
pub struct Kept {
    pub path: String,
    pub exchange: Rc<Exchange>,
}

/// The state of everything outside the scheduler, whatever the time is.
#[derive(Debug)]
struct State {
    /// What [`Kernel::moves`](rehang_os::Kernel::moves) was then.
    moves: u64,
    canon: Vec<u8>,
    /// When a process does something next that is no heartbeat.
    acts: Option<VTime>,
    /// Whether there were heartbeats since it was written: what they have left is still to be compared with it.
    has_beaten: bool,
    /// When answers were learned in it last.
    learned: Option<VTime>,
    /// Whether a server that has a heartbeat to send at that instant answers first.
    answers_first: bool,
    /// How many answers came in one turn at the most.
    most: usize,
}

/// What the requests of one step are.
#[derive(Debug, Default)]
enum Batch {
    /// There is none yet.
    #[default]
    None,
    /// All of them have an answer that is kept, and none was sent.
    Kept,
    /// Polls that are carried out, by their numbers; `learns` if their answers are to be kept.
    Sent { asked: Vec<(u32, String)>, learns: bool },
    /// Something else.
    Other,
}

/// The polls of a cell.
#[derive(Debug, Default)]
pub struct PollBook {
    /// Whether answers are kept at all.
    pub is_on: bool,
    /// The state in which the answers hold, if any do.
    state: Option<State>,
    /// The answers, by path.
    answers: BTreeMap<String, Rc<Exchange>>,
    /// What `moves` was when a poll was over that changed nothing that can be seen.
    quiet: Option<u64>,
    batch: Batch,
    /// Whether the server may have something else to do before it answers the polls that were not sent.
    is_busy: bool,
    /// Whether the polls that were not sent are answered now.
    pub answers_now: bool,
    /// What the exchanges of this step have brought, by the number of the request.
    pub came: Vec<(u32, Exchange)>,
    /// How many states were written.
    states: u64,
    /// How many polls were not carried out.
    pub saved: u64,
}

impl PollBook {
    /// Those of a job. If an order is chosen, what is due may come late, after what was learned of its place: all polls
    /// are carried out there.
    pub fn new(job: &Job<'_>) -> PollBook {
        PollBook { is_on: job.polls == Polls::Changed && job.choices.is_empty(), ..PollBook::default() }
    }

    /// Whether there are polls that were not sent and wait for the server's turn.
    fn is_waiting(&self) -> bool {
        matches!(self.batch, Batch::Kept)
    }

    fn forget(&mut self) {
        self.state = None;
        self.answers.clear();
    }
}

/// What a step begins with.
pub struct Before {
    batch: Batch,
    moves: u64,
    events: usize,
    /// When a process wakes next, if answers are learned.
    wakes: Option<VTime>,
}

impl Hub<'_> {
    /// The answer to a request that need not be sent, if it is one of those. `id` is the number of the request.
    pub fn poll(
        &mut self,
        id: u32,
        (method, path, body): (&str, &str, &Value),
        timeout: Option<Span>,
    ) -> Result<Option<Kept>, InternalError> {
        if !self.polls.is_on {
            return Ok(None);
        }
        if method != "GET" || !body.is_null() || timeout == Some(Span::ZERO) || self.port.is_none() {
            self.acts()?;
            return Ok(None);
        }
        let moves = self.kernel.moves();
        if matches!(self.polls.batch, Batch::None) {
            let known = self.polls.state.as_ref().filter(|state| state.moves == moves).map(|state| state.has_beaten);
            let holds = match known {
                Some(true) => self.still_holds()?,
                known => known.is_some(),
            };
            let mut learns = holds;
            if !holds {
                self.polls.forget();
                if self.polls.quiet == Some(moves) {
                    self.polls.state = self.lasting_state()?;
                    learns = self.polls.state.is_some();
                }
            }
            self.polls.batch = match holds {
                true => Batch::Kept,
                false => Batch::Sent { asked: Vec::new(), learns },
            };
        }
        if self.polls.is_waiting() {
            let most = self.polls.state.as_ref().map_or(0, |state| state.most);
            if let Some(known) = self.polls.answers.get(path).filter(|_| self.kept().len() < most) {
                return Ok(Some(Kept { path: path.to_owned(), exchange: Rc::clone(known) }));
            }
            let asked = self.kept();
            self.connect_polls()?;
            self.polls.batch = Batch::Sent { asked, learns: true };
        }
        if let Batch::Sent { asked, .. } = &mut self.polls.batch {
            asked.push((id, path.to_owned()));
        }
        Ok(None)
    }

    /// The polls that were not sent: their numbers and paths.
    fn kept(&self) -> Vec<(u32, String)> {
        self.net.open.iter().filter_map(|c| Some((c.request()?, c.kept.as_ref()?.path.clone()))).collect()
    }

    /// Sends the polls that were not sent: something else comes before their answers.
    pub fn send_polls(&mut self) -> Result<(), InternalError> {
        if !self.polls.is_waiting() {
            return Ok(());
        }
        let asked = self.kept();
        self.connect_polls()?;
        let is_one = |id: Option<u32>| asked.iter().any(|(one, _)| id == Some(*one));
        for connection in self.net.open.iter_mut().filter(|c| is_one(c.request())) {
            let Some(handle) = connection.handle else { continue };
            match self.kernel.write(handle, &connection.unsent)? {
                Write::Took(n) => drop(connection.unsent.drain(..n)),
                Write::Later | Write::Failed(_) => {}
            }
        }
        Ok(())
    }

    /// Makes the connections of the polls that were not sent; what they ask is written when the step is over.
    fn connect_polls(&mut self) -> Result<(), InternalError> {
        self.polls.batch = Batch::Other;
        for connection in self.net.open.iter_mut().filter(|c| c.kept.is_some()) {
            connection.kept = None;
            let Ok(handle) = self.kernel.connect(connection.port)? else {
                return Err(InternalError::Fake("a server that answered refuses to be asked again".to_owned()));
            };
            connection.handle = Some(handle);
        }
        Ok(())
    }

    /// The step that is under way does something else than poll.
    pub fn acts(&mut self) -> Result<(), InternalError> {
        self.connect_polls()
    }

    /// The step that is under way looks at the processes: what was not sent would be seen.
    pub fn show_polls(&mut self) -> Result<(), InternalError> {
        match self.polls.is_waiting() {
            true => self.connect_polls(),
            false => Ok(()),
        }
    }

    /// The state of all processes, whatever the time is; `None` if too many were written for nothing.
    fn lasting_state(&mut self) -> Result<Option<State>, InternalError> {
        self.polls.states += 1;
        if self.polls.states > self.polls.saved + STATES_SPARE {
            self.polls.is_on = false;
            return Ok(None);
        }
        self.kernel.set_now(self.now);
        let mut canon = Canon::lasting(self.now);
        self.kernel.canon(&mut canon)?;
        Ok(Some(State {
            moves: self.kernel.moves(),
            acts: canon.soonest(),
            canon: canon.into_bytes(),
            has_beaten: false,
            learned: None,
            answers_first: false,
            most: 0,
        }))
    }

    /// Whether everything is as it was when answers began to hold; they go on doing so then.
    fn still_holds(&mut self) -> Result<bool, InternalError> {
        let Some(before) = self.polls.state.take() else { return Ok(false) };
        let Some(after) = self.lasting_state()?.filter(|after| after.canon == before.canon) else {
            self.polls.forget();
            return Ok(false);
        };
        let State { learned, answers_first, most, .. } = before;
        self.polls.state = Some(State { learned, answers_first, most, ..after });
        Ok(true)
    }
}

impl Scheduler<'_, '_> {
    /// The process that has a turn because of polls that were not sent, if it has none anyway.
    pub fn polled(&mut self, ready: &[Proc]) -> Option<Proc> {
        let hub = &mut self.hub;
        if !hub.polls.is_waiting() {
            return None;
        }
        let is_ready = ready.contains(&hub.agent);
        // nothing has come to it since: what it may have to do is what is due
        let is_free = hub.polls.state.as_ref().is_some_and(|state| {
            let beats = state.answers_first && state.acts.is_none_or(|at| at > hub.now);
            state.moves == hub.kernel.moves() && (!is_ready || beats)
        });
        hub.polls.is_busy = !is_free;
        (!is_ready).then_some(hub.agent)
    }

    /// Begins a step of this candidate: whether it is the turn of a server that answers nothing but what it has answered
    /// before. Then nothing is to be run.
    pub fn begin_step(&mut self, chosen: Candidate) -> Result<(Before, bool), InternalError> {
        let hub = &mut self.hub;
        let is_server = chosen == Candidate::Process(hub.agent);
        let answers = hub.polls.is_waiting() && is_server && !hub.polls.is_busy;
        if answers {
            let kept = || hub.net.open.iter().filter_map(|c| Some(&c.kept.as_ref()?.exchange));
            let (request, answer) = (kept().map(|kept| kept.request).sum(), kept().map(|kept| kept.answer).sum());
            let count = kept().count() as u32;
            hub.polls.saved += u64::from(count);
            hub.kernel.credit(hub.agent, count, request, answer);
            hub.polls.answers_now = true;
        } else if hub.polls.is_waiting() {
            let asked = hub.kept();
            hub.send_polls()?;
            if is_server {
                hub.polls.batch = Batch::Sent { asked, learns: true };
            }
        }
        let batch = std::mem::take(&mut hub.polls.batch);
        let learns = matches!(batch, Batch::Sent { learns: true, .. });
        let wakes = if learns { hub.kernel.deadline(hub.now) } else { None };
        Ok((Before { batch, moves: hub.kernel.moves(), events: hub.events.len(), wakes }, answers))
    }

    /// Ends a step: learns what its exchanges brought.
    pub fn end_step(&mut self, chosen: Candidate, before: Before) -> Result<(), InternalError> {
        let hub = &mut self.hub;
        hub.polls.answers_now = false;
        let came = std::mem::take(&mut hub.polls.came);
        if !hub.polls.is_on || chosen != Candidate::Process(hub.agent) {
            return Ok(());
        }
        let Before { batch, moves, events, wakes } = before;
        let new = &hub.events[events..];
        match batch {
            Batch::Sent { asked, learns } => {
                let is_all = |(event, (id, _)): (&Event, &(u32, String))| matches!(event.what, What::Response { id: of, .. } if of == *id);
                if new.len() != asked.len() || !new.iter().zip(&asked).all(is_all) {
                    return Ok(());
                }
                hub.polls.quiet = Some(hub.kernel.moves());
                let count = asked.len();
                if learns && hub.kernel.deadline(hub.now) == wakes && hub.still_holds()? {
                    let known = asked.into_iter().zip(came).filter(|((asked, _), (came, _))| asked == came);
                    hub.polls.answers.extend(known.map(|((_, path), (_, exchange))| (path, Rc::new(exchange))));
                    if let Some(state) = &mut hub.polls.state {
                        (state.learned, state.most) = (Some(hub.now), state.most.max(count));
                    }
                }
            }
            Batch::None if new.iter().all(is_heartbeat) => {
                let is = |then: Option<u64>| then == Some(moves);
                let (now, after) = (hub.now, hub.kernel.moves());
                if let Some(state) = hub.polls.state.as_mut().filter(|state| is(Some(state.moves))) {
                    (state.moves, state.has_beaten) = (after, true);
                    state.answers_first |= state.learned == Some(now);
                }
                if is(hub.polls.quiet) {
                    hub.polls.quiet = Some(after);
                }
            }
            Batch::None | Batch::Kept | Batch::Other => {}
        }
        Ok(())
    }
}

fn is_heartbeat(event: &Event) -> bool {
    matches!(&event.what, What::Sse(body) if body["type"] == HEARTBEAT || body["payload"]["type"] == HEARTBEAT)
}

#[cfg(test)]
mod tests {
    use super::super::{Looks, Record, run};
    use super::{Job, Polls};
    use rehang_os::sim::SimKernel;
    use rehang_scenario::{Scenario, Span, Terminal};
    use rehang_trace::What;
    use serde_json::{Value, json};

    const STACKS: [&str; 4] = ["pending-ask", "watcher@pr5", "monitor@pr3", "guard"];

    fn scenario(turns: Value, more: Value) -> Scenario {
        let agent = json!({ "opencode": { "as": "1.18.33", "mode": "serve" } });
        let mut all = json!({ "title": "t", "mechanism": "F1", "agent": agent, "turns": turns });
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
        }
        serde_json::from_value(all).expect("a scenario")
    }

    fn sleep(span: &str) -> Value {
        json!({ "bash": { "command": "make", "does": [{ "sleep": span }, { "print": "made" }] } })
    }

    /// The run with all polls and the one without those whose answer is known.
    fn both(scenario: &Scenario, stack: &str) -> [Record; 2] {
        [Polls::All, Polls::Changed].map(|polls| {
            let job = Job { polls, looks: Looks::Every(Span::secs(7)), ..Job::new(scenario, stack, Terminal::Null, 1) };
            run(&mut SimKernel::new(rehang_fakes::program), &job).expect("the cell runs")
        })
    }

    /// How many polls the second run was spared; all else is the same in both, evidence and steps too.
    #[track_caller]
    fn saved(scenario: &Scenario, stack: &str) -> (u64, u64) {
        let [all, mut changed] = both(scenario, stack);
        let saved = std::mem::take(&mut changed.saved);
        let polls =
            |event: &&rehang_trace::Event| matches!(&event.what, What::Request { method, .. } if method == "GET");
        let of = changed.trace.events.iter().filter(polls).count() as u64;
        assert!(all == changed, "{stack}");
        (saved, of)
    }

    /// How many of how many polls each stack is spared: in a long command, and where another one follows.
    #[test]
    fn only_polls_after_a_change_are_carried_out() {
        let cells = [
            (json!([sleep("70m"), { "say": "It builds." }]), [(66, 73), (22, 24), (2, 5), (8, 16)]),
            (json!([sleep("21s"), sleep("1m"), { "say": "Both." }]), [(36, 49), (12, 16), (0, 3), (0, 8)]),
        ];
        for (turns, expected) in cells {
            let scenario = scenario(turns, json!({}));
            assert_eq!(STACKS.map(|stack| saved(&scenario, stack)), expected);
        }
    }

    /// At 60 s a poll, a heartbeat and the fault are due, and at 65 s a poll alone.
    #[test]
    fn what_strikes_at_the_instant_of_a_poll_strikes_it_too() {
        for at in ["60s", "65s"] {
            for does in ["mute", "crash", "freeze", "restart"] {
                let fault = json!({ "faults": [{ "process": { "at": at, "does": does } }] });
                let struck = scenario(json!([sleep("20m"), { "say": "Done." }]), fault);
                for stack in STACKS {
                    saved(&struck, stack);
                }
            }
        }
    }
}
