//! What goes wrong in a scenario, and who acts in it.
//!
//! Invariant: a fault or a person is drawn for an agent that can have it and prefers what its model asks for; whether
//! the two meet, and when, is left to chance.

use super::rng::Rng;
use super::vocabulary::*;
use crate::agents;
use crate::playable::COMPANION_COMMANDS;
use crate::turns::*;
use crate::*;

impl Rng {
    /// Any fault that this agent can meet while its model does this.
    pub fn fault(&mut self, agent: &Agent, turns: &[Turn]) -> Fault {
        let nth = self.pick(&[1, 1, 1, 2, 0]);
        let kind = agent.kind();
        let (model, server) = (usize::from(kind.has_model), usize::from(kind.has_server));
        let weights = [4, 1, 2 - server, 4 * model, 5 * model, 4 * server, 4 * server, 3 * server, server, 3 * server];
        match self.weighted(&weights) {
            0 if server > 0 && self.one_in(4) => Fault::Process(ProcessFault {
                role: "agent".to_owned(),
                at: self.span(),
                does: self.pick(&[ProcessDoes::Restart, ProcessDoes::Mute]),
            }),
            0 if agent.kind() == &agents::CLAUDE && self.one_in(4) => Fault::Process(ProcessFault {
                role: "agent".to_owned(),
                at: self.span(),
                does: ProcessDoes::MuteOutput,
            }),
            0 => Fault::Process(ProcessFault {
                role: self.pick(&ROLES).to_owned(),
                at: self.span(),
                does: self.pick(&[ProcessDoes::Crash, ProcessDoes::Crash, ProcessDoes::Freeze, ProcessDoes::Thaw]),
            }),
            1 => Fault::Pgrep(self.pick(&[PgrepFault::Unavailable, PgrepFault::NoPid])),
            2 => Fault::Wrapper(match self.below(3) {
                0 => WrapperFault::IgnoresStderr,
                1 => WrapperFault::IgnoresStdout,
                _ => WrapperFault::Vanishes(self.span()),
            }),
            3 => Fault::Model(self.model_fault(nth)),
            4 => Fault::Tool(ToolFault {
                nth,
                does: match self.weighted(&[2, 1, 2 * server]) {
                    0 => ToolDoes::NeverFlips,
                    1 => ToolDoes::LosesResult,
                    _ => ToolDoes::Lags(self.span()),
                },
            }),
            5 => Fault::Event(EventFault {
                kind: self.about(turns, &EVENTS),
                nth,
                // a lost event is the most frequent fault in practice
                does: match self.weighted(&[1, 1, 1, 1, 1, 4]) {
                    0 => EventDoes::Delay(self.span()),
                    1 => EventDoes::Cut(self.span()),
                    2 => EventDoes::Duplicate,
                    3 => EventDoes::Reorder,
                    4 => EventDoes::Mute,
                    _ => EventDoes::Drop,
                },
            }),
            6 => Fault::Post(PostFault {
                nth,
                does: match self.below(4) {
                    0 => PostDoes::NeverCloses,
                    1 => PostDoes::Cut(self.span()),
                    2 => PostDoes::Status(self.pick(&STATUSES)),
                    _ => PostDoes::Ignored,
                },
            }),
            7 => Fault::Get(GetFault {
                path: self.about(turns, &PATHS),
                times: self.pick(&TIMES),
                status: if self.one_in(3) { 0 } else { self.pick(&STATUSES) },
            }),
            8 => Fault::Queue(self.pick(&[QueueFault::Refuses, QueueFault::Holds])),
            _ => Fault::Worker(match self.below(4) {
                0 => WorkerFault::PidTaken(self.span()),
                1 => WorkerFault::NeverStarts,
                _ => WorkerFault::Dies(self.span()),
            }),
        }
    }

    fn model_fault(&mut self, response: u32) -> ModelFault {
        if self.one_in(12) {
            let response = 1 + self.below(2) as u32;
            return ModelFault { response, after: 0, does: ModelDoes::Repeats, retry_after: None };
        }
        let does = match self.below(8) {
            0 => ModelDoes::Stall,
            1 => ModelDoes::Pause(self.span()),
            2 => ModelDoes::KeepAlive(self.span()),
            3 => ModelDoes::Truncate,
            4 => ModelDoes::NoFinish,
            5 => ModelDoes::Reset,
            6 => ModelDoes::Status(self.pick(&STATUSES)),
            _ => ModelDoes::Slow(self.span()),
        };
        let retry_after = match does {
            ModelDoes::Status(_) if self.one_in(3) => Some(self.span()),
            _ => None,
        };
        ModelFault { response, after: self.below(3) as u32, does, retry_after }
    }

    /// Faults that occur together: a client that loses an event has a bad connection, and gets no lists either.
    pub fn company(&mut self, fault: &Fault) -> Option<Fault> {
        let Fault::Event(event) = fault else { return None };
        let topic = event.kind.split('.').next().unwrap_or_default();
        let paths: Vec<&str> = PATHS.iter().copied().filter(|path| path.contains(topic)).collect();
        if paths.is_empty() || !self.one_in(2) {
            return None;
        }
        let path = self.pick(&paths).to_owned();
        Some(Fault::Get(GetFault { path, times: self.pick(&TIMES), status: self.pick(&STATUSES) }))
    }

    /// None, one or two people; a person who has acted may try again.
    pub fn people(&mut self, agent: &Agent, turns: &[Turn], faults: &[Fault]) -> Vec<Person> {
        let mut people = self.few(|s| s.person(agent, turns, faults));
        if self.one_in(3)
            && let Some(first) = people.last().cloned()
        {
            people.push(self.tries_again(first, agent, turns));
        }
        people
    }

    /// Somebody who does something later that they did not do at first.
    pub fn tries_again(&mut self, mut person: Person, agent: &Agent, turns: &[Turn]) -> Person {
        person.after = person.after + self.span();
        person.does = self.act(person.via, agent, turns);
        person
    }

    /// Anybody who could act on this agent while its model does this and this goes wrong.
    pub fn person(&mut self, agent: &Agent, turns: &[Turn], faults: &[Fault]) -> Person {
        let job = faults.iter().any(|fault| matches!(fault, Fault::Worker(_) | Fault::Queue(_)));
        let via = match agent {
            // if a fault hits a job, its owner looks after it
            _ if job && self.one_in(2) => Via::Companion,
            _ if !agent.kind().has_server => self.pick(&[Via::Stdin, Via::Stdin, Via::Tty]),
            _ => self.pick(&[Via::Http, Via::Http, Via::Http, Via::Companion, Via::Companion, Via::Tty, Via::Stdin]),
        };
        let does = self.act(via, agent, turns);
        let sees = match via {
            _ if self.one_in(3) => None,
            Via::Http if agent.kind().has_front_end => {
                Some(self.pick(&[Sees::Events, Sees::Tree, Sees::List, Sees::Blocker]))
            }
            Via::Http => Some(self.pick(&[Sees::Events, Sees::Tree, Sees::List])),
            Via::Tty => Some(self.pick(&[Sees::Screen, Sees::Clock])),
            Via::Stdin => Some(self.pick(&[Sees::Messages, Sees::Clock])),
            Via::Companion => Some(Sees::Clock),
        };
        let directory = (via == Via::Http && self.one_in(12)).then(|| "/elsewhere".to_owned());
        // the owner looks after a job at the time when it should have a result
        let after = if via == Via::Companion { self.near_a_limit() } else { self.span() };
        Person { via, sees, directory, ask: self.pick(&[0, 0, 0, 1, 2]), after, does }
    }

    fn act(&mut self, via: Via, agent: &Agent, turns: &[Turn]) -> Does {
        match via {
            Via::Companion => Does::Run(self.pick(&COMPANION_COMMANDS).to_owned()),
            _ => self.deed(via == Via::Http && agent.kind().has_front_end, turns),
        }
    }

    /// What a person does who does not use the companion: more often something that fits the ask.
    fn deed(&mut self, front_end: bool, turns: &[Turn]) -> Does {
        let asked = topics(turns);
        let (question, permission) = (asked.contains(&QUESTION), asked.contains(&PERMISSION));
        let to = |fits: bool, more: usize| if fits { more } else { 1 };
        let (answer, allow) = (to(question, 7), to(permission, 5));
        let malformed = to(question, 3);
        match self.weighted(&[answer, 2, allow, 1, 1, 1, 1, 1, 1, 1, malformed, 1, 1, 2 * usize::from(front_end)]) {
            0 => Does::Answer(self.answer(turns)),
            1 => Does::Answers(self.some(1, 2, |s| s.some(0, 2, Rng::text))),
            2 => Does::Allow,
            3 => Does::Always,
            4 => Does::Deny,
            5 => Does::Skip,
            6 => Does::Dismiss,
            7 => Does::Stop,
            8 => Does::SoftStop,
            9 => Does::HangUp,
            10 => {
                Does::Malformed(self.pick(&[Malformed::Count, Malformed::Multi, Malformed::Label, Malformed::Syntax]))
            }
            11 => Does::Type(self.pick(&TYPED).to_owned()),
            12 => Does::Prompt(self.text()),
            _ => match self.one_in(2) {
                true => Does::Dispose,
                false => Does::Leave(self.span()),
            },
        }
    }

    /// One of these names; half the time one for what the model asks for, if there is one.
    fn about(&mut self, turns: &[Turn], names: &[&str]) -> String {
        let asked = topics(turns);
        let fits = |name: &&str| asked.iter().any(|topic| name.contains(topic));
        let fitting: Vec<&str> = names.iter().copied().filter(fits).collect();
        let names = if fitting.is_empty() || self.one_in(2) { names } else { &fitting[..] };
        self.pick(names).to_owned()
    }

    /// A label for each question of some ask, three times in four one that is offered; else any texts.
    fn answer(&mut self, turns: &[Turn]) -> Vec<String> {
        let asks = asks(turns);
        if asks.is_empty() || self.one_in(4) {
            return self.some(1, 2, Rng::text);
        }
        let ask = self.pick(&asks);
        let label = |q: &Question| match q.options.is_empty() {
            true => self.text(),
            false => self.pick(&q.options).label,
        };
        ask.iter().map(label).collect()
    }
}

/// The questions of each ask, those of subagents too.
fn asks(turns: &[Turn]) -> Vec<&[Question]> {
    let mut all: Vec<&[Question]> = Vec::new();
    for turn in turns {
        match turn {
            Turn::Ask(questions) => all.push(questions),
            Turn::Task(Task { turns, .. }) | Turn::Together(turns) => all.extend(asks(turns)),
            _ => {}
        }
    }
    all
}

/// How many requests fail; 0 means every one.
const TIMES: [u32; 5] = [0, 0, 1, 5, 20];
const QUESTION: &str = "question";
const PERMISSION: &str = "permission";

/// What these turns ask a person for, as events and routes call it.
fn topics(turns: &[Turn]) -> Vec<&'static str> {
    let mut all = Vec::new();
    for turn in turns {
        match turn {
            Turn::Ask(_) => all.push(QUESTION),
            Turn::Permit(_) => all.push(PERMISSION),
            Turn::Bash(bash) if bash.asks.is_some() => all.push(PERMISSION),
            Turn::Task(Task { turns, .. }) | Turn::Together(turns) => all.extend(topics(turns)),
            _ => {}
        }
    }
    all
}
