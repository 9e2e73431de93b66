//! A user's own wrapper as the strategy under test: the fakes are on its `PATH`, it runs on the wall clock or in virtual
//! time, and the judge reads the facts that the fakes report.
//!
//! Invariant: a wrapper is judged beside `none` on the simulated kernel, with the agent called just as the wrapper
//! calls it; so every hang that it is measured by is proved, and every healthy run is known to be healthy. In virtual
//! time what is credited or blamed is played without the wrapper too: see [`alone`].

pub mod alone;
pub mod call;
pub mod cell;
pub mod findings;
pub mod limits;
pub mod messages;
mod process;
pub mod summary;
mod told;
pub mod unfit;

use call::Call;
use cell::{Job, Ran, Still};
use limits::Run;
use messages::Template;
use rehang_fakes::stand_in::StandIn;
use rehang_judge::{CellFacts, Outcome, Score, Verdict, classify, judge};
use rehang_os::alone::journal::{self, Line, Said};
use rehang_runner::outputs::scratch;
use rehang_runner::unit::variant_name;
use rehang_scenario::Mechanism;
use rehang_scenario::file::Family;
use rehang_scenario::plan::Plan;
use rehang_scenario::text::{duration, took};
use rehang_scenario::turns::Turn;
use rehang_scenario::{Arm, Fault, Form, Scenario, Span, Stage, Terminal, WrapperFault, agents, default_editor};
use rehang_stage::judged::{Setting, facts, judged};
use rehang_trace::{Fact, Trace, What, ndjson};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use unfit::Unfit;

/// The hidden argument with which this binary runs one cell.
pub const CELL_ARG: &str = "__wrapped";
/// The terminals on which a wrapper is tested.
pub const TERMINALS: [Terminal; 4] = [Terminal::Null, Terminal::Pipe, Terminal::Closed, Terminal::Tty];

/// The pace of an agent that says hello on the wall clock: its own waits (3 s for a word on its stdin) take hardly any
/// time.
const HURRIED: u32 = 1_000;
/// A day. A run that is still there after a day in virtual time counts as one that never ends; after less, a limit of the
/// wrapper may be longer. No limit of the wrappers in `docs/public-wrappers.md` is longer than four hours.
pub const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A wrapper under test.
#[derive(Debug, Clone)]
pub struct Wrapper {
    /// Its command.
    pub command: Vec<String>,
    /// What it is called on the scoreboard.
    pub name: String,
    /// How long a cell may take, by its clock.
    pub deadline: Duration,
    /// How much real time a cell may take in virtual time; without it, cells run on the wall clock.
    pub within: Option<Duration>,
    /// The fakes' binary.
    pub fakes: PathBuf,
}

/// How a wrapper uses its agent on one terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    /// How it calls it.
    pub call: Call,
    /// Whether the agent's stdin is the wrapper's own.
    pub inherits: bool,
    /// What the agent's stdin is then.
    pub stdin: Terminal,
    /// Whether its stdout is a terminal.
    pub shows: bool,
    /// What became of the wrapper if its agent waited for its stdin and did nothing else: hang S1, in rehearsal.
    pub waits: Option<Waited>,
    /// The command line of its agent.
    pub argv: Vec<String>,
    /// What its agent's messages look like, if the wrapper reads messages.
    pub template: Option<Template>,
}

/// A wrapper whose agent waits for a stdin that stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// What the wrapper made of it.
    pub score: Score,
    /// What became of the wrapper, in words.
    pub became: String,
}

/// A cell.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The scenario's name.
    pub name: String,
    /// The scenario as it is played.
    pub scenario: Scenario,
    /// The same, as the wrapper meets it.
    pub met: Scenario,
    /// Its arm.
    pub arm: Arm,
    /// The wrapper's terminal.
    pub terminal: Terminal,
    /// What the agent's streams are.
    pub agents: Terminal,
    /// The verdict without the wrapper.
    pub baseline: Verdict,
    /// The agent's command line, if it can be played without the wrapper.
    pub alone: Option<Vec<String>>,
}

/// What fits a wrapper.
#[derive(Debug, Clone)]
pub struct Fitting {
    /// The cells.
    pub cells: Vec<Cell>,
    /// How many cells do not fit, by reason.
    pub left_out: BTreeMap<String, usize>,
    /// The same of the scenarios that its agent could meet, by the layer of their mechanisms.
    pub left_out_of: BTreeMap<&'static str, BTreeMap<String, usize>>,
    /// How it uses its agent, by its own terminal.
    pub rehearsals: Vec<(Terminal, Rehearsal)>,
    /// How long the longest healthy run takes in virtual milliseconds that is of its agent and takes too long here; 0 if
    /// there is none.
    pub too_long: u64,
}

/// What came out of a cell.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What the judge knew.
    pub facts: CellFacts,
    /// The verdict.
    pub verdict: Verdict,
    /// The wrapper's score in this cell.
    pub score: Score,
    /// Whether the wrapper did anything but start its agent and pass its exit code on.
    pub acted: bool,
    /// Why it is undecided, in words.
    pub open: Option<String>,
    /// What can be seen of the wrapper's limits.
    pub run: Option<Run>,
    /// Whether the wrapper was still there, and its agent was not.
    pub agent_is_gone: bool,
    /// The trace.
    pub trace: Trace,
    /// The run.
    pub ran: Ran,
}

impl Judged {
    /// The hash of its trace.
    pub fn sha256(&self) -> String {
        ndjson::sha256(&self.trace)
    }
}

/// What cannot be done with a wrapper.
#[derive(Debug, thiserror::Error)]
pub enum WrapperError {
    /// The wrapper did not run.
    #[error("{0}")]
    Start(String),
    /// It started no agent.
    #[error(
        "in a rehearsal with an agent that says hello, `{command}` started none of {agents} from PATH, by its name and with a prompt; its output: {said}"
    )]
    NoAgent {
        /// The command.
        command: String,
        /// The names that were there.
        agents: String,
        /// What it said.
        said: String,
    },
    /// It does not end well with a healthy agent.
    #[error(
        "in a rehearsal with an agent that says hello, `{command}` {what}; there is nothing to measure. Its output: {said}"
    )]
    Unwell {
        /// The command.
        command: String,
        /// How it ended.
        what: String,
        /// What it said.
        said: String,
    },
    /// The machine does not provide what is needed to run it; with the remedy.
    #[error("{0}")]
    Machine(String),
    /// A file or a process of ours.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Wrapper {
    /// Runs the wrapper once on a terminal with an agent that says hello.
    ///
    /// # Errors
    /// It starts no agent, or does not end well with a healthy one.
    pub fn rehearse(&self, terminal: Terminal) -> Result<Rehearsal, WrapperError> {
        let stand_in = says("Hello from a scripted model.", if self.within.is_some() { 1 } else { HURRIED });
        let (ran, lines) = self.run(stand_in, &self.command, terminal, self.deadline)?;
        let command = format!("{} on {}", self.command.join(" "), terminal.name());
        let said = ran.said.trim().to_owned();
        let began = lines.iter().find_map(|line| match &line.said {
            Said::Began { argv, stdin, file, stdout, .. } => {
                Some((Call::of(argv)?, stdin.clone(), file.clone(), stdout == "tty", argv.clone()))
            }
            _ => None,
        });
        let Some((call, stdin, file, shows, argv)) = began else {
            let known = agents::ALL.iter().filter(|agent| agent.has_model).map(|agent| agent.word);
            return Err(WrapperError::NoAgent { command, agents: known.collect::<Vec<_>>().join(", "), said });
        };
        let serves = call.agent.has_server;
        let inherits = file == ran.stdin;
        let says = |line: &Line| matches!(line.said, Said::What(What::Fact(Fact::ModelAsked { .. })));
        let waits_for_stdin = inherits && stdin != "null" && stdin != "tty" && !lines.iter().any(says);
        let mut waits = None;
        match ran.exit {
            Some(0) => {}
            _ if waits_for_stdin => waits = Some(self.became(&ran)),
            Some(code) => {
                let what = format!("ends with {code}");
                return Err(WrapperError::Unwell { command, what, said });
            }
            None => {
                let hint = if serves {
                    " (opencode reads a stdin that is no terminal to its end: is it left open?)"
                } else {
                    ""
                };
                let what = format!("{}{hint}", self.still_there(&ran));
                return Err(WrapperError::Unwell { command, what, said });
            }
        }
        let stdin = match stdin.as_str() {
            _ if inherits => terminal,
            "tty" => Terminal::Tty,
            "null" => Terminal::Null,
            // its own pipe: open until the agent's end, or closed before
            _ if lines.iter().any(|line| line.is_of_an_agent() && line.said == Said::StdinOpen) => Terminal::Pipe,
            _ => Terminal::Closed,
        };
        let template = if call.reads_messages { self.messages(&argv)? } else { None };
        Ok(Rehearsal { call, inherits, stdin, shows, waits, argv, template })
    }

    /// What the agent of this command line prints if it says one thing, as messages.
    fn messages(&self, argv: &[String]) -> Result<Option<Template>, WrapperError> {
        let folder = scratch()?;
        says(messages::WORDS, HURRIED).lay_out(folder.path(), &self.fakes)?;
        let Some((program, args)) = argv.split_first() else { return Ok(None) };
        let mut command = Command::new(folder.path().join(program.rsplit('/').next().unwrap_or(program)));
        let out = command.args(args).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        Ok(Template::of(&String::from_utf8_lossy(&out.stdout)))
    }

    /// The cells of some scenarios that fit, and how many do not, by reason.
    ///
    /// # Errors
    /// A rehearsal that fails.
    pub fn cells(
        &self,
        families: &[Family],
        wanted: impl Fn(&str, &Scenario) -> bool,
        terminals: &[Terminal],
    ) -> Result<Fitting, WrapperError> {
        let mut rehearsals = Vec::new();
        for &terminal in terminals {
            rehearsals.push((terminal, self.rehearse(terminal)?));
        }
        // with /dev/null its own cannot be told from another
        let inherits = rehearsals.iter().all(|(_, rehearsal): &(Terminal, Rehearsal)| rehearsal.inherits);
        for (_, rehearsal) in &mut rehearsals {
            rehearsal.inherits = inherits;
        }
        let (mut cells, mut left_out, mut too_long) = (Vec::new(), BTreeMap::new(), 0);
        let mut left_out_of: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let mut kernel = rehang_os::sim::SimKernel::new(rehang_fakes::program);
        for family in families {
            for variant in &family.variants {
                let name = variant_name(&family.name, &variant.name);
                let arms = [(Arm::Main, Some(&variant.scenario)), (Arm::Control, variant.control.as_ref())];
                for (arm, scenario) in arms.into_iter().filter_map(|(arm, s)| Some((arm, s?))) {
                    if !wanted(&name, scenario) {
                        continue;
                    }
                    for terminal in &scenario.terminals {
                        match self.fits(&mut kernel, &name, scenario, arm, *terminal, &rehearsals) {
                            Ok(cell) => cells.push(cell),
                            Err(why) => {
                                if let Unfit::Long { healthy: Some(ms) } = why {
                                    too_long = too_long.max(ms);
                                }
                                let mechanism = scenario.mechanism.parse::<Mechanism>().ok();
                                if let Some(mechanism) = mechanism.filter(|_| why.is_telling()) {
                                    let of = left_out_of.entry(mechanism.layer()).or_default();
                                    *of.entry(why.to_string()).or_default() += 1;
                                }
                                *left_out.entry(why.to_string()).or_default() += 1;
                            }
                        }
                    }
                }
            }
        }
        Ok(Fitting { cells, left_out, left_out_of, rehearsals, too_long })
    }

    fn fits(
        &self,
        kernel: &mut rehang_os::sim::SimKernel,
        name: &str,
        scenario: &Scenario,
        arm: Arm,
        terminal: Terminal,
        rehearsals: &[(Terminal, Rehearsal)],
    ) -> Result<Cell, Unfit> {
        let Some((_, rehearsal)) = rehearsals.iter().find(|(on, _)| *on == terminal) else {
            return Err(Unfit::Terminal(terminal.name()));
        };
        let scenario = &without_own_faults(scenario);
        let mut met = rehearsal.call.meets(scenario, rehearsal.template.as_ref())?;
        if scenario.runs > 1 {
            return Err(Unfit::Runs);
        }
        StandIn::of(scenario).map_err(Unfit::Alone)?;
        if !scenario.people.is_empty() || scenario.editor != default_editor() {
            return Err(Unfit::People);
        }
        if rehearsal.stdin == Terminal::Tty && !rehearsal.shows {
            return Err(Unfit::StdinAlone);
        }
        let messages = rehearsal.call.is_spoken_to();
        // the scenario may be about the agent's stdin: then `none` is a wrapper that passes its own stdin on
        let about_stdin = !messages && scenario.mechanism.starts_with('S');
        if rehearsal.waits.is_some() && !about_stdin {
            return Err(Unfit::Stdin(terminal.name()));
        }
        let first = rehearsals.iter().map(|(on, _)| *on).find(|on| scenario.terminals.contains(on));
        if !rehearsal.inherits && !about_stdin && Some(terminal) != first {
            return Err(Unfit::SameOnAll);
        }
        let agents = match () {
            () if messages => Terminal::Pipe,
            () if about_stdin => terminal,
            // its children can open the wrapper's terminal, whatever its stdin is
            () if terminal == Terminal::Tty && rehearsal.stdin == Terminal::Null => Terminal::CttyNull,
            () => rehearsal.stdin,
        };
        met.terminals = vec![agents];
        let job = job(&met, agents);
        let setting = Setting { name, stage: Stage::Sim, arm, healthy: Span::ZERO };
        let baseline = judged(kernel, &job, &setting, None)?.verdict;
        let last = if baseline.outcome.is_hung() { baseline.last_progress } else { baseline.ended };
        let limit = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
        // a cell that takes more than half of the time leaves the wrapper too little to show what it does
        if last.0.saturating_mul(2) > limit {
            let healthy = (baseline.outcome == Outcome::Completed).then_some(last.0);
            return Err(Unfit::Long { healthy });
        }
        let is_alone = self.within.is_some() && alone::can_play(&met, agents);
        let alone = is_alone.then(|| rehearsal.argv.clone());
        Ok(Cell { name: name.to_owned(), scenario: scenario.clone(), met, arm, terminal, agents, baseline, alone })
    }

    /// Runs a cell and judges it.
    ///
    /// # Errors
    /// A process of ours that fails, facts that contradict each other: an internal error.
    pub fn judge(&self, cell: &Cell) -> Result<Judged, WrapperError> {
        let (ran, lines) = self.run(cell.stand_in()?, &self.command, cell.terminal, self.deadline)?;
        let trace = told::trace(&lines, &ran, &self.name);
        let job = job(&cell.met, cell.terminal);
        let setting = Setting { name: &cell.name, stage: Stage::Live, arm: cell.arm, healthy: Span::ZERO };
        let mut facts = facts(&job, &setting);
        facts.strategy.clone_from(&self.name);
        let mut verdict = judge(&trace, &facts, Some(&cell.baseline)).map_err(|e| io::Error::other(e.to_string()))?;
        verdict.breaches.extend(told::unfinished(&trace, &verdict, facts.server));
        // an agent that talks to its wrapper while it runs may do what it does because of that
        let alone = cell.met.agent.mode().is_none_or(|mode| mode.form == Form::Run);
        let acted = !alone || told::acted(&lines, &ran);
        told::charged(&mut verdict, &cell.baseline, acted);
        let mut score = match (ran.exit, &cell.baseline.outcome) {
            (None, _) => still_there(&cell.baseline, ran.still, self.deadline),
            (Some(_), Outcome::Completed | Outcome::Failed { .. } | Outcome::Stopped { .. }) if !acted => {
                Score::Untouched
            }
            (Some(_), _) => classify(&verdict, &cell.baseline),
        };
        let mut open = ran.exit.is_none().then(|| self.still_there(&ran));
        if !matches!(score, Score::Untouched | Score::Undecided)
            && let Some(differs) = self.differs_alone(cell, &ran)?
        {
            (score, open) = (Score::Undecided, Some(differs));
        }
        let ended = matches!(score, Score::Stopped | Score::Harmed | Score::Wrongly) && acted;
        let run = Run::of(&lines, &ran, ended);
        let agent_is_gone = findings::agent_is_gone(&ran.waits, &lines);
        Ok(Judged { facts, verdict, score, acted, open, run, agent_is_gone, trace, ran })
    }

    fn run(
        &self,
        mut stand_in: StandIn,
        command: &[String],
        terminal: Terminal,
        deadline: Duration,
    ) -> Result<(Ran, Vec<Line>), WrapperError> {
        let folder = scratch()?;
        let bin = folder.path().join("bin");
        let written = folder.path().join("journal");
        stand_in.journal = Some(written.clone());
        stand_in.lay_out(&bin, &self.fakes)?;
        let job = Job {
            command: command.to_vec(),
            bin,
            scratch: folder.path().to_owned(),
            terminal,
            deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
            is_virtual: self.within.is_some(),
        };
        let ran = match self.within {
            None => process::on_the_wall_clock(&job)?,
            Some(within) => process::in_virtual_time(&job, within)?,
        };
        Ok((ran, journal::read(&written)?))
    }

    /// What became of a wrapper whose agent waited for its stdin.
    fn became(&self, ran: &Ran) -> Waited {
        let after = duration(ran.took_ms());
        let (score, became) = match ran.exit {
            Some(code) => (Score::Stopped, format!("ends with {code} after {after}")),
            None if never_ends(ran.still, self.deadline) => (Score::Missed, self.still_there(ran)),
            None => (Score::Undecided, self.still_there(ran)),
        };
        Waited { score, became: format!("the wrapper {became}") }
    }

    /// What is known of a wrapper that has not ended, as the predicate of a sentence.
    fn still_there(&self, ran: &Ran) -> String {
        let after = duration(ran.took_ms());
        match ran.still {
            Some(Still::Deadlock) => format!("waits for ever (a deadlock since {after}, proved)"),
            Some(Still::Outside) => format!("waits at {after} for something that is not in virtual time"),
            Some(Still::OutOfTime) => {
                let within = took(self.within.unwrap_or_default());
                format!("needed more than {within} of real time (--within); it had reached {after} of virtual time")
            }
            Some(Still::Deadline) | None => format!("is still there after {}", took(self.deadline)),
        }
    }
}

impl Cell {
    /// What its fakes play. The wrapper chooses their arguments.
    fn stand_in(&self) -> Result<StandIn, WrapperError> {
        let mut stand_in = StandIn::of(&self.scenario).map_err(|why| WrapperError::Start(why.to_owned()))?;
        stand_in.args.clear();
        // a program says what it says in the form that the wrapper asks for
        if self.met.agent.steps().is_some() {
            stand_in.plan.agent.clone_from(&self.met.agent);
        }
        Ok(stand_in)
    }
}

/// Whether a wrapper that is still there never ends. A deadlock is proved; who is there after a day in virtual time never
/// ends, see [`DAY`]. Of anything else that is not known: a limit of the wrapper may come later.
fn never_ends(still: Option<Still>, deadline: Duration) -> bool {
    match still {
        Some(Still::Deadlock) => true,
        Some(Still::Deadline) => deadline >= DAY,
        Some(Still::Outside | Still::OutOfTime) | None => false,
    }
}

/// The score of a wrapper that is still there.
fn still_there(baseline: &Verdict, still: Option<Still>, deadline: Duration) -> Score {
    match &baseline.outcome {
        Outcome::Hung { .. } if never_ends(still, deadline) => Score::Missed,
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Failed { .. } if never_ends(still, deadline) => {
            Score::Harmed
        }
        _ => Score::Undecided,
    }
}

/// An agent that says one thing and ends. It is a release that does not wait for the end of its stdin.
fn says(words: &str, speed: u32) -> StandIn {
    let mut agent = agents::CLAUDE.default_agent();
    agent.set_release("2.1.329");
    let turns = vec![Turn::Say(words.to_owned())];
    let plan =
        Plan { agent, turns, faults: Vec::new(), inside: Vec::new(), model_port: None, tools: None, stored: None };
    StandIn { plan, env: BTreeMap::new(), args: Vec::new(), journal: None, speed }
}

/// A scenario without the faults that are a wrapper's: whether this one has them is what is tested.
fn without_own_faults(scenario: &Scenario) -> Scenario {
    let is_own =
        |fault: &Fault| matches!(fault, Fault::Wrapper(WrapperFault::IgnoresStderr | WrapperFault::IgnoresStdout));
    let mut scenario = scenario.clone();
    scenario.faults.retain(|fault| !is_own(fault));
    scenario
}

/// A cell under `none`.
fn job(scenario: &Scenario, terminal: Terminal) -> rehang_stage::Job<'_> {
    rehang_stage::Job::new(scenario, "none", terminal, 1)
}

/// The longest default name: a script in `-c` has no name of its own.
const NAME_CHARS: usize = 24;

/// The default name of a command: its program, or the script that an interpreter runs.
pub fn name_of(command: &[String]) -> String {
    let base = |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let interpreters = BTreeSet::from(["python", "python3", "node", "sh", "bash", "ruby", "perl", "bun", "deno"]);
    let words: Vec<String> = command.iter().filter_map(base).collect();
    let first = words.first().cloned().unwrap_or_else(|| "wrapper".to_owned());
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let name = match script {
        Some(script) if interpreters.contains(first.as_str()) => script.clone(),
        _ => first,
    };
    // names that have another meaning in a trace
    match name.as_str() {
        "agent" | "wrapper" | "client" | "model" | "user" | "none" => format!("my-{name}"),
        _ => name
            .chars()
            .take(NAME_CHARS)
            .map(|c| if c.is_ascii_alphanumeric() || "-_.@".contains(c) { c } else { '-' })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_waits_for_its_stdin_in_rehearsal_is_missed_only_if_that_never_ends() {
        let score = |still, deadline| {
            let (command, name, fakes) = (Vec::new(), String::new(), PathBuf::new());
            let wrapper = Wrapper { command, name, deadline, within: Some(Duration::from_secs(30)), fakes };
            wrapper.became(&Ran { still, ..Ran::default() }).score
        };
        for unknown in [Still::Outside, Still::OutOfTime] {
            assert_eq!(score(Some(unknown), DAY), Score::Undecided, "{unknown:?}");
        }
        let hours = Duration::from_secs(6 * 3_600);
        assert_eq!([DAY, hours].map(|time| score(Some(Still::Deadline), time)), [Score::Missed, Score::Undecided]);
        assert_eq!(score(Some(Still::Deadlock), hours), Score::Missed);
    }
}
