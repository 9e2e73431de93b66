//! The host outside an agent, in the place of the program that runs it: carries out what a strategy does.
//!
//! Invariant: a strategy sees only what a wrapper in its place would see, and gets a tick only at its own deadline.

use super::Job;
use super::evidence::Glance;
use super::hub::{Actor, Hub};
use super::inbox::Input;
use rehang_actors::PROMPT;
use rehang_os::{
    kernel::InternalError,
    os::{Exit, Sig},
};
use rehang_scenario::{Canon, PgrepFault, Span, Terminal, VTime};
use rehang_strategy::{
    Act, Acting, Host, Member, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Settled, Strategy, Whom, host,
};
use rehang_trace::{RunEnd, What};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// How long after a cut the event stream is opened again: what EventSource does by default (WHATWG HTML, 3 s).
const RECONNECT: Span = Span::secs(3);

/// A hosted strategy, in its seat.
pub struct WrapperHost {
    host: Host,
    seat: usize,
    /// The strategy's own numbers of requests, by the cell's numbers.
    requests: BTreeMap<u32, u32>,
    reopen: Option<VTime>,
    over: bool,
    /// The cell goes on after its end, and so does this host.
    lingers: bool,
    serves: bool,
    terminal: Terminal,
    /// The person whose line it passes on now: what it writes then is attributed to them.
    typist: Option<String>,
    /// What became of the companion's worker, of those that look at it: a job whose worker is gone waits for it.
    worker_gone: Option<bool>,
    glance: Glance,
}

impl WrapperHost {
    /// A strategy in this seat.
    pub fn new(member: Member, seat: usize, job: &Job<'_>) -> WrapperHost {
        let serves = job.scenario.agent.serves();
        WrapperHost {
            host: Host::new([member]),
            seat,
            requests: BTreeMap::new(),
            reopen: None,
            over: false,
            lingers: job.scenario.afterwards.is_some(),
            serves,
            terminal: job.terminal,
            typist: None,
            worker_gone: None,
            glance: Glance::default(),
        }
    }

    fn see(&mut self, hub: &mut Hub<'_>, name: &str, seen: Seen) -> Result<(), InternalError> {
        let (mut next, mut queue) = (Some(seen), VecDeque::new());
        while let Some(seen) = next {
            if (self.over && !self.lingers) || hub.is_closed() {
                return Ok(());
            }
            for Acting { act, .. } in self.host.see(hub.now, &seen) {
                queue.extend(self.carry_out(hub, name, act)?);
            }
            next = queue.pop_front();
        }
        Ok(())
    }

    fn carry_out(&mut self, hub: &mut Hub<'_>, name: &str, act: Act) -> Result<Option<Seen>, InternalError> {
        match act {
            Act::Process(ProcessAct::Kill { sig, whom }) => {
                let sig = Sig::from_name(sig).unwrap_or(Sig::Kill);
                match whom {
                    Whom::Process => hub.signal(name, false, sig)?,
                    Whom::Group => hub.signal(name, true, sig)?,
                    Whom::Tree => hub.signal_tree(name, sig)?,
                    Whom::Holders => hub.signal_holders(name, sig)?,
                    Whom::Part(pid) => hub.signal_part(name, pid, sig)?,
                }
            }
            Act::Protocol(ProtocolAct::Write(bytes)) => {
                hub.write_stdin(self.typist.as_deref().unwrap_or(name), &bytes)?
            }
            Act::Process(ProcessAct::CloseStdin) => hub.close_stdin(name)?,
            Act::Protocol(ProtocolAct::Request { id, method, path, body, timeout }) => {
                let ours = hub.request(name, method, &path, &body, timeout)?;
                self.requests.insert(ours, id);
            }
            Act::Protocol(ProtocolAct::Cancel { id }) => {
                let ours = self.requests.iter().find(|(_, theirs)| **theirs == id).map(|(ours, _)| *ours);
                if let Some(ours) = ours {
                    self.requests.remove(&ours);
                    hub.cancel(name, ours)?;
                }
            }
            Act::Protocol(ProtocolAct::CountChildren) => {
                let count = match hub.pgrep() {
                    Some(PgrepFault::Unavailable) => None,
                    _ if !hub.agent_alive() => Some(0),
                    _ => Some(hub.kernel.children(hub.agent)?),
                };
                hub.record(
                    name,
                    What::Looked { at: "children".to_owned(), saw: count.map_or(Value::Null, Value::from) },
                );
                return Ok(Some(Seen::Protocol(ProtocolSeen::Children(count))));
            }
            Act::Process(ProcessAct::Look) => {
                self.glance.begin(hub);
            }
            Act::Protocol(ProtocolAct::FindPid) => {
                let found = hub.pgrep() != Some(PgrepFault::NoPid) && hub.agent_alive();
                hub.record(name, What::Looked { at: "pid".to_owned(), saw: Value::Bool(found) });
                return Ok(Some(Seen::Protocol(ProtocolSeen::Pid(found))));
            }
            Act::Protocol(ProtocolAct::LookAtWorker) => {
                let alive = hub.worker_alive();
                // a process that has taken its pid is not the worker
                self.worker_gone = Some(!alive || self.worker_gone == Some(true));
                hub.record(name, What::Looked { at: "worker".to_owned(), saw: Value::Bool(alive) });
                return Ok(Some(Seen::Protocol(ProtocolSeen::Worker(alive))));
            }
            Act::Process(ProcessAct::Settle(settled)) => {
                self.over = true;
                if self.host.strategies().any(Strategy::outlives_run) {
                    hub.runs_left = 0;
                }
                match settled {
                    Settled::Completed(text) => hub.settle(name, RunEnd::Completed, "", &text),
                    Settled::Stopped(cause, text) => hub.settle(name, RunEnd::Stopped, &cause, &text),
                    Settled::Failed(text) => hub.settle(name, RunEnd::Failed, &text, ""),
                }
            }
            Act::Report(policy) => hub.record(name, What::Report(policy.into())),
            Act::Say(text) => hub.record(name, What::Says(text)),
            // it would sit inside the agent
            Act::Inside(act) => debug_assert!(false, "{name} does {act:?} outside the agent"),
        }
        Ok(None)
    }

    fn translate(&mut self, hub: &mut Hub<'_>, name: &str, input: Input) -> Result<Option<Seen>, InternalError> {
        Ok(Some(match input {
            Input::Begin => {
                if self.serves {
                    return Ok(Some(Seen::Process(ProcessSeen::Terminal(self.terminal))));
                }
                for seen in host::started(self.terminal, PROMPT, hub.streams.stderr.is_none()) {
                    self.see(hub, name, Seen::Process(seen))?;
                }
                return Ok(None);
            }
            Input::Listening if self.host.strategies().any(Strategy::wants_events) => {
                self.listen(hub, name)?;
                return Ok(None);
            }
            Input::SessionMade(session) => Seen::Process(ProcessSeen::Started { session, prompt: PROMPT.to_owned() }),
            Input::Output(stream, bytes) if !self.serves => Seen::Process(ProcessSeen::Output(stream, bytes)),
            Input::OutputEnd(stream) if !self.serves => Seen::Process(ProcessSeen::OutputEnd(stream)),
            Input::Exited(exit) => Seen::Process(ProcessSeen::Exited(match exit {
                Exit::Code(code) => i32::from(code),
                Exit::Signal(sig) => -i32::from(sig.number()),
            })),
            Input::Response { id, status, body } => match self.requests.remove(&id) {
                Some(id) => Seen::Protocol(ProtocolSeen::Response { id, status, body: body.shared() }),
                None => return Ok(None),
            },
            Input::Failed { id, why } => match self.requests.remove(&id) {
                Some(id) => Seen::Protocol(ProtocolSeen::Failed { id, why: why.to_owned() }),
                None => return Ok(None),
            },
            Input::Event(event) => Seen::Protocol(ProtocolSeen::Event(event.shared())),
            Input::EventsEnd => {
                self.reopen = hub.agent_alive().then(|| hub.now + RECONNECT);
                Seen::Protocol(ProtocolSeen::EventsCut)
            }
            Input::Command(command) => Seen::Protocol(ProtocolSeen::Command(command)),
            Input::WorkerDied => {
                self.worker_gone = self.worker_gone.map(|_| true);
                Seen::Protocol(ProtocolSeen::WorkerDied)
            }
            Input::Wrote(bytes) => Seen::Process(ProcessSeen::Wrote(bytes)),
            Input::Typed(who, bytes) => {
                self.typist = Some(who);
                self.see(hub, name, Seen::Protocol(ProtocolSeen::Typed(bytes)))?;
                self.typist = None;
                return Ok(None);
            }
            Input::Output(..) | Input::OutputEnd(_) | Input::Listening | Input::Asked | Input::Model => {
                return Ok(None);
            }
        }))
    }

    fn listen(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        if !hub.listen_to_events(name)? && hub.agent_alive() {
            self.reopen = Some(hub.now + RECONNECT);
        }
        Ok(())
    }
}

impl Actor for WrapperHost {
    fn deadline(&self) -> Option<VTime> {
        if self.over && !self.lingers {
            return None;
        }
        [self.host.deadline(), self.reopen, self.glance.deadline()].into_iter().flatten().min()
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError> {
        assert_eq!(hub.actor, self.seat, "an actor acts in its own name");
        // what becomes due by what it hears now is a step of its own: others may come between
        let was_due = self.host.deadline().is_some_and(|t| t <= hub.now);
        if self.reopen.is_some_and(|t| t <= hub.now) {
            self.reopen = None;
            self.listen(hub, name)?;
        }
        if let Some(diagnosis) = self.glance.end(hub) {
            self.see(hub, name, Seen::Process(ProcessSeen::Looked(Box::new(diagnosis))))?;
        }
        for input in inbox {
            if let Some(seen) = self.translate(hub, name, input)? {
                self.see(hub, name, seen)?;
            }
        }
        if was_due && (!self.over || self.lingers) && self.host.deadline().is_some_and(|t| t <= hub.now) {
            self.see(hub, name, Seen::Tick)?;
        }
        Ok(())
    }

    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let WrapperHost {
            host,
            seat: _, // not compared: it never changes
            requests,
            reopen,
            over,
            lingers: _,  // not compared: it never changes
            serves: _,   // not compared: it never changes
            terminal: _, // not compared: it never changes
            typist: _,   // not compared: set and taken back within one turn
            worker_gone,
            glance,
        } = self;
        canon.flag(*over).deadline(*reopen).num(worker_gone.map_or(0, |gone| 1 + u64::from(gone)));
        // in the order of the strategy's own numbers, in which it says what each is for
        let mut own: Vec<(u32, u32)> = requests.iter().map(|(ours, theirs)| (*theirs, *ours)).collect();
        own.sort_unstable();
        canon.list(&own, |canon, (_, ours)| {
            canon.num(hub.net.place(*ours));
        });
        host.canon(canon);
        glance.canon(hub, canon);
    }

    fn waits_for(&self) -> Option<&'static str> {
        (self.worker_gone == Some(true) && !self.over).then_some("worker")
    }
}
