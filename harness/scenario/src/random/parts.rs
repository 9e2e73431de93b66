//! Scenarios from nothing, and the pieces that they are made of. What is drawn together fits together: a person has a way that the agent
//! has, answers what is asked, and acts at a time that some strategy's limit makes interesting. Which agent, fault,
//! step and person meet is left to chance.
//!
//! Invariant: nothing here is aimed at a known defect.

use super::rng::Rng;
use super::vocabulary::*;
use crate::agents::{self, Settings};
use crate::playable::SIGNALS;
use crate::turns::*;
use crate::*;

/// Agents in which the same strategies can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// Who it is.
    pub agent: &'static AgentKind,
    /// A program talks to it while it runs.
    pub is_spoken_to: bool,
}

impl Kind {
    /// A plain program.
    pub const PROGRAM: Kind = Kind { agent: &agents::PROGRAM, is_spoken_to: false };
    /// opencode's server.
    pub const OPENCODE_SERVER: Kind = Kind { agent: &agents::OPENCODE, is_spoken_to: true };

    /// All of them.
    pub fn all() -> Vec<Kind> {
        let both = |agent| [false, true].map(|is_spoken_to| Kind { agent, is_spoken_to });
        let all = agents::ALL.into_iter().flat_map(both);
        all.filter(|kind| *kind == Kind::PROGRAM || !kind.modes().is_empty()).collect()
    }

    /// The kind of an agent.
    pub fn of(agent: &Agent) -> Kind {
        Kind { agent: agent.kind(), is_spoken_to: agent.form().is_spoken_to() }
    }

    fn modes(self) -> Vec<Mode> {
        let all = self.agent.modes.iter().copied().filter(|mode| mode.editor().is_none());
        all.filter(|mode| mode.form.is_spoken_to() == self.is_spoken_to).collect()
    }
}

impl Rng {
    /// Any scenario of an agent of this kind; not all that is drawn can be played.
    pub fn scenario(&mut self, kind: Kind) -> Scenario {
        let agent = self.agent_of(kind);
        let turns = match agent.kind().has_model {
            true => self.some(1, 4, |s| s.turn(1)),
            false => Vec::new(),
        };
        let terminals = vec![self.terminal(&agent)];
        let mut faults = self.few(|s| s.fault(&agent, &turns));
        let company: Vec<Fault> = faults.iter().filter_map(|fault| self.company(fault)).collect();
        faults.extend(company);
        let people = self.people(&agent, &turns, &faults);
        let mut scenario = Scenario {
            title: String::new(),
            about: None,
            mechanism: "F1".to_owned(),
            cites: Vec::new(),
            terminals,
            turns,
            tool_server: None,
            hook: Vec::new(),
            faults,
            people,
            editor: default_editor(),
            runs: if self.one_in(12) { 2 } else { 1 },
            afterwards: self.one_in(8).then(|| self.span()),
            env: Default::default(),
            args: Vec::new(),
            seeds: vec![1 + self.below(2) as u64],
            stages: None,
            survives: Vec::new(),
            skip: Vec::new(),
            expect: Vec::new(),
            agent,
        };
        if self.one_in(3) {
            self.set_variable(&mut scenario);
        }
        if self.one_in(3) {
            self.add_argument(&mut scenario);
        }
        scenario
    }

    /// Sets a variable to a value that some program looks for.
    pub fn set_variable(&mut self, scenario: &mut Scenario) {
        let (name, value) = self.pick(&ENV);
        scenario.env.insert(name.to_owned(), value.to_owned());
    }

    /// Adds an argument with its words.
    pub fn add_argument(&mut self, scenario: &mut Scenario) {
        let all = scenario.agent.kind().args;
        if all.is_empty() {
            return;
        }
        let words = self.pick(all);
        scenario.args.extend(words.iter().map(|word| (*word).to_owned()));
    }

    /// None, one or two, each equally often.
    pub fn few<T>(&mut self, draw: impl FnMut(&mut Rng) -> T) -> Vec<T> {
        let most = self.below(3);
        self.some(most, most, draw)
    }

    /// Any agent.
    pub fn agent(&mut self) -> Agent {
        let kind = self.pick(&Kind::all());
        self.agent_of(kind)
    }

    /// Any agent of this kind.
    fn agent_of(&mut self, kind: Kind) -> Agent {
        let client = self.pick(&[Client::Post, Client::Post, Client::Events, Client::Resync]);
        let run = self.pick(&[Form::Run, Form::Run, Form::Interactive]);
        if !kind.agent.has_model {
            return Agent::program(self.some(1, 4, |s| s.step(2)));
        }
        let release = match kind.agent.releases {
            [] => kind.agent.default_release,
            all => self.pick(all),
        };
        let modes = kind.modes();
        let drawn = modes.iter().find(|mode| kind.agent.has_server && (mode.form == run || mode.form == Form::Serve));
        let mode = drawn.copied().unwrap_or_else(|| self.pick(&modes));
        let flag = kind.agent.flag.is_some() && self.one_in(4);
        kind.agent.agent(&Settings { release, mode, client, flag })
    }

    /// A terminal; the agent's usual one more often.
    pub fn terminal(&mut self, agent: &Agent) -> Terminal {
        let usual = match agent.form() {
            Form::Stdin => Terminal::Pipe,
            // Claude Code draws a screen only there; opencode and its forks draw one elsewhere too
            Form::Interactive if !agent.kind().has_server => Terminal::Tty,
            _ => Terminal::Null,
        };
        if self.one_in(2) { usual } else { self.pick(&Terminal::ALL) }
    }

    /// Any turn; subagents at most `depth` levels deep.
    pub fn turn(&mut self, depth: usize) -> Turn {
        let deep = usize::from(depth > 0);
        match self.weighted(&[10, 3, 3, 1, 1, 2 * deep, 4]) {
            0 => self.call(),
            1 => Turn::Say(self.text()),
            2 => Turn::Think(self.span()),
            3 => Turn::Compact(self.span()),
            4 => Turn::Finish(self.pick(&[Finish::Stop, Finish::ToolCalls, Finish::Unknown, Finish::None])),
            5 => self.task(depth - 1),
            _ => self.together(),
        }
    }

    /// Calls of one step: commands alone as often as a mixture.
    fn together(&mut self) -> Turn {
        let commands = self.one_in(2);
        Turn::Together(self.some(2, 3, |s| match s.below(4) {
            _ if commands => Turn::Bash(s.bash()),
            0 => s.task(0),
            _ => s.call(),
        }))
    }

    fn task(&mut self, depth: usize) -> Turn {
        Turn::Task(Task { description: self.text(), turns: self.some(1, 3, |s| s.turn(depth)) })
    }

    /// A tool call other than a subagent.
    pub fn call(&mut self) -> Turn {
        match self.weighted(&[4, 2, 4]) {
            0 => Turn::Ask(self.some(1, 2, Rng::question)),
            1 => Turn::Permit(Permit {
                tool: self.pick(&TOOLS).to_owned(),
                permission: self.pick(&PERMISSIONS).to_owned(),
                patterns: self.some(0, 1, Rng::text),
                output: self.text(),
            }),
            _ => Turn::Bash(self.bash()),
        }
    }

    /// Any question.
    pub fn question(&mut self) -> Question {
        Question {
            question: self.text(),
            header: self.text(),
            options: self.some(0, 4, Rng::choice),
            multiple: self.one_in(4),
            custom: if self.one_in(3) { Some(self.one_in(2)) } else { None },
        }
    }

    /// Any option of a question.
    pub fn choice(&mut self) -> Choice {
        let description = if self.one_in(3) { self.text() } else { String::new() };
        Choice { label: self.text(), description }
    }

    fn bash(&mut self) -> Bash {
        let tool = match self.one_in(4) {
            true => BashTool {
                stdin: self.maybe(&[ChildStdin::Null, ChildStdin::Pipe, ChildStdin::Inherit]),
                waits_for: self.maybe(&[WaitsFor::Pipes, WaitsFor::Exit]),
                kills: self.maybe(&[Kills::Child, Kills::Group, Kills::GroupThenKill]),
                new_session: self.maybe(&[true, false]),
                background_group: self.one_in(4),
            },
            false => BashTool::default(),
        };
        Bash {
            command: self.text(),
            asks: if self.one_in(3) { Some(self.pick(&PERMISSIONS).to_owned()) } else { None },
            does: match self.one_in(6) {
                true => vec![self.lasting()],
                false => self.some(0, 3, |s| s.step(2)),
            },
            // half of them have as much time as they need
            timeout: match self.below(4) {
                0 => Some(self.span()),
                1 => None,
                _ => Some(Span::hours(10)),
            },
            tool,
        }
    }

    /// What a server, a watch or a long build does: it is still running when most limits have passed.
    fn lasting(&mut self) -> Step {
        match self.below(3) {
            0 => Step::Hold,
            1 => Step::Sleep(LONGEST),
            _ => Step::Sleep(self.near_a_limit()),
        }
    }

    /// Any step; processes and agents at most `depth` levels below it.
    pub fn step(&mut self, depth: usize) -> Step {
        let deep = usize::from(depth > 0);
        match self.weighted(&[4, 1, 2, 5, 3, 1, 2, 2, 2, 2, 1, 1, 1, 1, 3, 2, 3, 3 * deep, deep, deep, 1, 2 * deep]) {
            0 => Step::Print(self.printed()),
            1 => Step::Warn(self.printed()),
            2 => Step::Prompt(self.printed()),
            3 => Step::Sleep(self.span()),
            4 => Step::Every(Every {
                every: self.span(),
                print: self.printed(),
                times: self.pick(&[0, 0, 1, 3, 20, 100, 400]),
                stderr: self.one_in(2),
            }),
            5 => Step::Fill(Fill { bytes: self.pick(&[1, 4_096, 65_536, 65_537, 200_000]), stderr: self.one_in(2) }),
            6 => Step::Result(Final {
                text: self.printed(),
                bytes: self.pick(&[0, 0, 4_096, 65_537, 200_000]),
                cut: self.one_in(4),
                lines: Vec::new(),
            }),
            7 => Step::CloseOutput,
            8 => Step::ReadStdin,
            9 => Step::ReadStdinToEnd,
            10 => Step::AskTty(self.printed()),
            11 => Step::SetTty,
            12 => Step::Ignore(self.some(1, 2, |s| s.pick(&SIGNALS).to_owned())),
            13 => Step::Raise(self.pick(&SIGNALS).to_owned()),
            14 => Step::Hold,
            15 => Step::Setsid,
            16 => Step::Exit(self.pick(&[0, 1, 1, 3])),
            17 => Step::Background(Background {
                name: self.pick(&["dev-server", ""]).to_owned(),
                does: self.some(1, 2, |s| s.step(depth - 1)),
                stdout: self.maybe(&[true, false]),
                stderr: self.maybe(&[true, false]),
                piped: self.one_in(6),
                setsid: self.one_in(3),
                double_fork: self.one_in(3),
            }),
            18 => Step::Run(self.some(1, 3, |s| s.step(depth - 1))),
            19 => self.nested(),
            20 => match self.below(4) {
                0 => Step::Fetch(Fetch { within: self.within(), kept: self.within() }),
                3 => match self.below(3) {
                    0 => Step::TakeLock(TakeLock { within: self.within() }),
                    1 => Step::Run(vec![Step::Sleep(self.span()), Step::Print(self.printed()), Step::Again]),
                    _ => Step::Lock(Lock { database: self.one_in(2), within: self.within() }),
                },
                1 => Step::OpenFifo(OpenFifo { skips: self.one_in(2) }),
                _ => Step::Listen(Listen { within: self.within() }),
            },
            _ => Step::Run(self.conversation(depth - 1)),
        }
    }

    /// A process with pipes, as a tool server is, and what its parent has to do with it.
    fn conversation(&mut self, depth: usize) -> Vec<Step> {
        let streams =
            [StartStream::Pipe, StartStream::Pipe, StartStream::Pipe, StartStream::Inherit, StartStream::Null];
        let start = Start {
            name: "mcp-server".to_owned(),
            does: self.some(0, 3, |s| s.step(depth)),
            stdin: self.maybe(&streams),
            stdout: self.maybe(&streams),
            stderr: self.maybe(&streams),
            missing: self.one_in(8),
            unreaped: self.one_in(4),
        };
        let (hears, speaks, name) = (start.hears(), start.speaks(), start.name.clone());
        let mut steps = vec![Step::Start(start)];
        for _ in 0..self.below(5) {
            let name = name.clone();
            steps.push(match self.below(5) {
                0 if hears => Step::Send(Send { to: name, line: self.printed() }),
                1 if speaks => Step::Receive(Receive { from: name, within: self.within() }),
                2 if hears => Step::HangUp(name),
                3 => Step::Await(Await { of: name, within: self.within() }),
                4 => Step::End(name),
                _ => self.step(0),
            });
        }
        steps
    }

    /// A limit of a wait, or none.
    fn within(&mut self) -> Option<Span> {
        self.one_in(2).then(|| self.span())
    }

    /// An agent below an agent; its own children are not agents.
    fn nested(&mut self) -> Step {
        let agent = match self.agent() {
            agent if agent.kind().has_model => agent,
            _ => Agent::program(vec![self.step(0)]),
        };
        let turns = match agent.kind().has_model {
            false => Vec::new(),
            true => self.some(1, 2, |s| match s.below(3) {
                0 => Turn::Ask(vec![s.question()]),
                1 => Turn::Bash(Bash { does: vec![s.step(0)], ..s.bash() }),
                _ => Turn::Say(s.text()),
            }),
        };
        Step::Agent(Nested { agent: Box::new(agent), turns, args: Vec::new() })
    }

    /// What a program prints: what a reader of its output looks for, and escape sequences.
    fn printed(&mut self) -> String {
        if self.is_of_anything() && self.one_in(4) {
            return self.some(0, 6, |s| s.pick(&['\r', '\x07', '\x08', '\x1b', '[', 'a'])).into_iter().collect();
        }
        if self.one_in(4) { self.pick(&LINES).to_owned() } else { self.text() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// What is never drawn, and why: nothing spins in a search, since that alone uses up a cell's steps; an agent with an
    /// editor has pipes alone and no other people.
    const NEVER: [&str; 4] = ["spin", "acp", "app-server", "sdk"];

    /// The words of all enums that these parts of a file are made of.
    fn vocabulary(schema: &Value, part: &Value, seen: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
        match part {
            Value::Object(table) => {
                if let Some(Value::String(reference)) = table.get("$ref")
                    && seen.insert(reference.clone())
                {
                    vocabulary(schema, schema.pointer(&reference[1..]).unwrap(), seen, words);
                }
                for variant in table.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
                    let constant = variant["const"].as_str().into_iter();
                    let several = variant["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
                    let tagged = variant["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                    words.extend(constant.chain(several).chain(tagged).map(str::to_owned));
                }
                words.extend(
                    table
                        .get("enum")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .map(str::to_owned),
                );
                table.values().for_each(|value| vocabulary(schema, value, seen, words));
            }
            Value::Array(list) => list.iter().for_each(|value| vocabulary(schema, value, seen, words)),
            _ => {}
        }
    }

    fn words_in(value: &Value, words: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => drop(words.insert(text.clone())),
            Value::Array(list) => list.iter().for_each(|value| words_in(value, words)),
            Value::Object(table) => {
                for (key, value) in table {
                    words.insert(key.clone());
                    words_in(value, words);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_word_of_the_format_is_drawn() {
        let schema = crate::schema();
        let mut wanted = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for key in ["agent", "turns", "faults", "people", "terminals"] {
            vocabulary(&schema, &schema["properties"][key], &mut seen, &mut wanted);
        }
        assert!(wanted.len() > 100, "{wanted:?}");
        let mut drawn = BTreeSet::new();
        let mut source = Rng::new(1);
        for _ in 0..500 {
            for kind in Kind::all() {
                let scenario = source.scenario(kind);
                assert_eq!(Kind::of(&scenario.agent), kind);
                words_in(&serde_json::to_value(scenario).unwrap(), &mut drawn);
            }
        }
        let never: Vec<&String> = wanted.difference(&drawn).filter(|word| !NEVER.contains(&word.as_str())).collect();
        assert!(never.is_empty(), "{never:?}");
    }
}
