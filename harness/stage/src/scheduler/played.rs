//! The seat of a party that takes part (`rehang_actors`): passes on what it is told, and carries out what it does.
//!
//! Invariant: what the party does is carried out in its order, and at the instant at which it does it.

use super::Job;
use super::hub::{Actor, Hub};
use super::inbox::Input;
use rehang_actors::{Driver, Editor, Output, SessionClient, Sight, Someone};
use rehang_os::{kernel::InternalError, os::Exit};
use rehang_scenario::{Canon, Person, Sees, VTime};
use rehang_strategy::{
    Stream,
    pawwork::recovery::{COMES_BACK, LEAVES},
};
use rehang_trace::What;
use std::collections::{BTreeMap, VecDeque};

/// The baseline client of this cell.
pub fn client(job: &Job<'_>, sends_prompt: bool) -> Box<dyn Actor> {
    let agent = &job.scenario.agent;
    if agent.serves() {
        Box::new(Played::new(session_client(job, sends_prompt)))
    } else if let Some(protocol) = agent.editor() {
        Box::new(Played::new(Editor::new(protocol, job.scenario.editor.clone())))
    } else if agent.is_driven() {
        Box::new(Played::new(Driver::with_prompt(rehang_actors::PROMPT)))
    } else {
        Box::new(Nobody)
    }
}

/// The baseline client of a later run: a server has its session already.
pub fn next_client(job: &Job<'_>, sends_prompt: bool, session: &str) -> Box<dyn Actor> {
    match job.scenario.agent.serves() {
        true => Box::new(Played::new(session_client(job, sends_prompt).in_session(session))),
        false => client(job, sends_prompt),
    }
}

fn session_client(job: &Job<'_>, sends_prompt: bool) -> SessionClient {
    let reconnect = rehang_actors::reconnect(&job.scenario.faults);
    let kind = job.scenario.agent.client().unwrap_or_default();
    SessionClient::new(kind, &job.scenario.title, reconnect, !sends_prompt)
}

/// A person of the scenario, in a seat.
pub fn person(person: &Person, job: &Job<'_>) -> Box<dyn Actor> {
    let reconnect = rehang_actors::reconnect(&job.scenario.faults);
    let mut someone = Someone::new(person, job.scenario.agent.serves(), reconnect);
    rehang_actors::Actor::on(&mut someone, job.begin, rehang_actors::Input::ClockBegins, &mut Vec::new());
    let reads_screen = someone.sees() == Sees::Screen;
    Box::new(Played { is_person: true, reads_screen, ..Played::new(someone) })
}

/// The person in front of a client.
const AT_EDITOR: &str = "user";

/// No client: the agent gets its prompt on the command line.
struct Nobody;

impl Actor for Nobody {
    fn act(&mut self, _: &mut Hub<'_>, _: &str, _: VecDeque<Input>) -> Result<(), InternalError> {
        Ok(())
    }

    fn canon(&self, _: &Hub<'_>, _: &mut Canon) {
        let Nobody = self;
    }
}

/// A party in its seat.
struct Played {
    actor: Box<dyn rehang_actors::Actor>,
    /// What the party writes to the agent's stdin goes through a strategy that relays.
    is_person: bool,
    reads_screen: bool,
    /// The actor's own numbers of its requests, by the cell's numbers.
    requests: BTreeMap<u32, u32>,
}

impl Played {
    fn new(actor: impl rehang_actors::Actor + 'static) -> Played {
        Played { actor: Box::new(actor), is_person: false, reads_screen: false, requests: BTreeMap::new() }
    }

    fn tell(&mut self, hub: &mut Hub<'_>, name: &str, input: rehang_actors::Input) -> Result<(), InternalError> {
        let mut out = Vec::new();
        self.actor.on(hub.now, input, &mut out);
        self.carry_out(hub, name, out)
    }

    fn carry_out(&mut self, hub: &mut Hub<'_>, name: &str, out: Vec<Output>) -> Result<(), InternalError> {
        for output in out {
            match output {
                Output::Acts(word) => {
                    let who = if self.is_person { name } else { AT_EDITOR };
                    hub.record(who, What::Acts(word.to_owned()));
                    hub.material += 1;
                }
                Output::Request { id, method, path, body } => {
                    let ours = hub.request(name, method, &path, &body, None)?;
                    self.requests.insert(ours, id);
                }
                Output::Listen => {
                    let resumes = hub.has_seen_events();
                    let answer = match hub.listen_to_events(name)? {
                        true => rehang_actors::Input::Opened { resumes },
                        false => rehang_actors::Input::Refused { resumes, alive: hub.agent_alive() },
                    };
                    self.tell(hub, name, answer)?;
                }
                Output::HangUp => hub.close_connections(hub.actor)?,
                Output::Write(line) => match hub.relay.filter(|_| self.is_person) {
                    Some(seat) => hub.deliver(seat, Input::Typed(name.to_owned(), line)),
                    None => hub.write_stdin(name, &line)?,
                },
                Output::Type(keys) => hub.write_stdin(name, keys.as_bytes())?,
                Output::CloseStdin => hub.close_stdin(name)?,
                Output::Reads(reads) => hub.reads[0] = reads,
                Output::Command(command) => command_all(hub, &command),
                Output::Leaves => command_all(hub, LEAVES),
                Output::ComesBack => command_all(hub, COMES_BACK),
                Output::SessionMade(session) => {
                    hub.session.clone_from(&session);
                    for seat in (0..hub.inboxes.len()).filter(|&seat| seat != hub.actor) {
                        hub.inboxes[seat].push(Input::SessionMade(session.clone()));
                    }
                }
                Output::Settle { outcome, cause, text } => hub.settle(name, outcome, &cause, &text),
            }
        }
        Ok(())
    }

    /// An input in the terms of the actors; `None` if it does not concern them.
    fn told(&mut self, hub: &Hub<'_>, input: Input) -> Option<rehang_actors::Input> {
        use rehang_actors::Input as Told;
        Some(match input {
            // a party that does not hold stdin cannot write a prompt to it
            Input::Begin if !self.is_person && hub.streams.stdin.is_none() && !hub.serves => return None,
            Input::Begin => Told::Begin,
            Input::Output(Stream::Stdout, bytes) => Told::Output(bytes),
            Input::Exited(exit) => Told::Exited(told_exit(exit)),
            Input::Listening => Told::Listening,
            Input::SessionMade(session) => Told::SessionMade(session),
            Input::Response { id, status, body } => Told::Response { id: self.requests.remove(&id)?, status, body },
            Input::Failed { id, why } => Told::Failed { id: self.requests.remove(&id)?, why },
            Input::Event(event) => Told::Event(event),
            Input::EventsEnd => Told::EventsEnd { alive: hub.agent_alive() },
            Input::Output(Stream::Stderr, _)
            | Input::OutputEnd(_)
            | Input::Command(_)
            | Input::Asked
            | Input::WorkerDied
            | Input::Model
            | Input::Wrote(_)
            | Input::Typed(..) => return None,
        })
    }
}

fn command_all(hub: &mut Hub<'_>, command: &str) {
    for seat in hub.strategies.clone() {
        hub.deliver(seat, Input::Command(command.to_owned()));
    }
}

fn told_exit(exit: Exit) -> rehang_actors::Exit {
    match exit {
        Exit::Code(code) => rehang_actors::Exit::Code(code),
        Exit::Signal(sig) => rehang_actors::Exit::Signal(sig.name()),
    }
}

impl Actor for Played {
    fn deadline(&self) -> Option<VTime> {
        self.actor.deadline()
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError> {
        let mut looks = false;
        for input in inbox {
            looks |= matches!(input, Input::Output(Stream::Stdout, _) | Input::Asked);
            if let Some(input) = self.told(hub, input) {
                self.tell(hub, name, input)?;
            }
        }
        if looks && self.reads_screen {
            let shown = hub.asks.iter().filter(|ask| ask.shown.is_found());
            let asks = shown.map(|ask| Sight::on_screen(&ask.id, ask.kind, &ask.questions)).collect();
            self.tell(hub, name, rehang_actors::Input::Screen(asks))?;
        }
        let mut out = Vec::new();
        self.actor.tick(hub.now, &mut out);
        self.carry_out(hub, name, out)?;
        if let Some(exit) = hub.exit.filter(|_| hub.stream_open == [false; 2]) {
            self.tell(hub, name, rehang_actors::Input::Over(told_exit(exit)))?;
        }
        Ok(())
    }

    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let Played {
            actor,
            is_person: _,    // not compared: it never changes
            reads_screen: _, // not compared: it never changes
            requests,        // written as places of those that are open
        } = self;
        let place = |id: u32| {
            let open = requests.iter().find(|(_, own)| **own == id);
            open.map_or(0, |(ours, _)| hub.net.place(*ours))
        };
        actor.canon(&place, canon);
    }

    fn waits_for(&self) -> Option<&'static str> {
        self.actor.waits_for()
    }
}
