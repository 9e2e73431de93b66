//! What came of one cell of real releases, as it is kept and compared.
//!
//! Invariant: a row is either something seen (an outcome with its evidence) or a reason why nothing could be.

use rehang_live::{Exit, Line, Outcome, Report, Via, Virtual, VirtualTime};
use rehang_model_server::BEYOND_SCRIPT;
use rehang_scenario::{OutcomeKind, Span};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A row of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The agent.
    pub agent: String,
    /// Its release.
    pub version: String,
    /// The scenario, with its variant in brackets.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
    /// How it ended; `None` if it could not run.
    pub outcome: Option<OutcomeKind>,
    /// The cause of a stop, the reason of a failure, what a hang is blocked on; what it is blocked on if it has no end; why
    /// it is undecided; why it could not run.
    pub detail: String,
    /// How the outcome is known: `exited`, `settled`, `observed(10s)`, `deadline`; in virtual time `proved`, `horizon(24h)`,
    /// `undecided`.
    pub evidence: String,
    /// The agent's exit code; `-N` for signal N; `None` if it was alive at the end.
    pub exit: Option<i32>,
    /// From the first main model request to the end or the verdict, in milliseconds.
    pub ms: u64,
    /// From the start to the first main model request, in milliseconds.
    pub startup_ms: Option<u64>,
    /// What the agent told its model.
    pub told: Vec<String>,
    /// Asks that were open at the verdict.
    pub asks: Vec<String>,
    /// Where its threads waited at the verdict, most telling first.
    pub waits: Vec<String>,
    /// Whether it loops: it took CPU time all the while, or asked its model without end.
    pub hot_loop: bool,
    /// What was wrong with the cell, or with what the agent sent.
    pub problems: Vec<String>,
    /// Network links of the agent's namespace.
    pub links: Vec<String>,
    /// How many runs it took to be sure; 1 if only one was asked for.
    pub runs: usize,
    /// Runs differ: the verdicts with their counts, most frequent first. The rest of the row is of a most frequent one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
    /// What `rehang why` said of each run that hung, if it was asked: `hung question-open Q1 (certain): …`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// What `rehang supervise` told, if the release ran under it: its acts and its end, in the form of its events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supervised: Vec<serde_json::Value>,
    /// If it ran in virtual time: how long that was, and what is known of its end. All times of the row are virtual then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
    /// The day, UTC.
    pub day: String,
    /// The command that shows it again.
    pub command: String,
    /// A hash of the scenario and the recipe: a changed one runs again.
    pub of: String,
}

/// What two cells are compared by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// The outcome; `None` if it could not run.
    pub outcome: Option<OutcomeKind>,
    /// Of a hang, or of what has no end: what it is blocked on.
    pub blocked_on: String,
}

/// The most bytes that are kept of a text that an agent tells its model.
const TOLD_BYTES: usize = 300;
/// The most texts, and the most waits, that are kept.
const KEPT: usize = 8;

impl Row {
    /// A row without an outcome, for a cell that could not run.
    pub fn unrun(key: &Key, of: &str, why: String) -> Row {
        Row {
            agent: key.agent.clone(),
            version: key.version.clone(),
            scenario: key.scenario.clone(),
            terminal: key.terminal.clone(),
            outcome: None,
            detail: why,
            evidence: String::new(),
            exit: None,
            ms: 0,
            startup_ms: None,
            told: Vec::new(),
            asks: Vec::new(),
            waits: Vec::new(),
            hot_loop: false,
            problems: Vec::new(),
            links: Vec::new(),
            runs: 0,
            flaky: Vec::new(),
            why: Vec::new(),
            supervised: Vec::new(),
            virtual_time: None,
            day: super::day::today(),
            command: key.command(),
            of: of.to_owned(),
        }
    }

    /// The row of a report. An agent that ended before it asked its model has not played the scenario, so the row has
    /// no outcome; nor has one that went on beyond the script's end and completed there.
    pub fn seen(key: &Key, of: &str, report: &Report) -> Row {
        let kind = report.outcome.kind();
        if report.requests.main == 0 && !kind.is_hang() && kind != OutcomeKind::Undecided {
            let (supervised, virtual_time) = (supervised(report), report.virtual_time.clone());
            return Row { ms: report.ms, supervised, virtual_time, ..Row::unrun(key, of, clip(&never_asked(report))) };
        }
        if let Some(problem) = report.problems.iter().find(|problem| problem.contains(BEYOND_SCRIPT))
            && report.outcome == Outcome::Completed
        {
            let problem = problem.split_once(": ").map_or(problem.as_str(), |(_, problem)| problem);
            let why = format!("its end is no part of the scenario: {problem}");
            let virtual_time = report.virtual_time.clone();
            return Row { ms: report.ms, virtual_time, ..Row::unrun(key, of, clip(&why)) };
        }
        let exit = report.exit.map(|exit| match exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => -signal,
        });
        // whoever hangs before its first request has mostly said why
        let said = last_said(report).filter(|_| report.requests.main == 0).map(|said| format!("it last said: {said}"));
        let problems = report.problems.iter().take(KEPT).chain(&said).map(|problem| clip(problem)).collect();
        let asks = report.asks.iter().map(|ask| clip(&format!("{}: {} ({})", ask.kind, ask.about, ask.known_by)));
        Row {
            outcome: Some(kind),
            detail: clip(report.outcome.detail()),
            evidence: report.evidence.to_string(),
            exit,
            ms: report.ms,
            startup_ms: report.startup_ms,
            told: report.told.iter().take(KEPT).map(|told| clip(told)).collect(),
            asks: asks.take(KEPT).collect(),
            waits: waits(report),
            hot_loop: report.hot_loop,
            problems,
            links: report.links.clone(),
            supervised: supervised(report),
            virtual_time: report.virtual_time.clone(),
            runs: 1,
            ..Row::unrun(key, of, String::new())
        }
    }

    /// The same row, with the command that shows it again on its clock: on the wall clock without `settings`.
    #[must_use]
    pub fn on_clock(self, settings: Option<&Virtual>) -> Row {
        let Some(settings) = settings else {
            return Row { command: format!("{} --clock wall", self.command), ..self };
        };
        let mut command = self.command.clone();
        let span = |span: Duration| Span::ms(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        let until = Some(settings.until).filter(|until| *until != rehang_live::HORIZON);
        let spans = [("until", until), ("skip-tickers", settings.skip_tickers)];
        for (name, of) in spans.into_iter().filter_map(|(name, of)| Some((name, of?))) {
            command.push_str(&format!(" --{name} {}", span(of)));
        }
        if let Some(seed) = settings.seed {
            command.push_str(&format!(" --seed {seed}"));
        }
        Row { command, ..self }
    }

    /// The cell's name.
    pub fn key(&self) -> Key {
        Key {
            agent: self.agent.clone(),
            version: self.version.clone(),
            scenario: self.scenario.clone(),
            terminal: self.terminal.clone(),
        }
    }

    /// What it is compared by.
    pub fn verdict(&self) -> Verdict {
        let blocked_on = if self.is_hang() { self.detail.clone() } else { String::new() };
        Verdict { outcome: self.outcome, blocked_on }
    }

    /// Whether the agent would not have ended by itself, as far as is known.
    pub fn is_hang(&self) -> bool {
        self.outcome.is_some_and(OutcomeKind::is_hang)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.outcome, self.blocked_on.as_str()) {
            (None, _) => f.write_str("cannot run"),
            (Some(outcome), "") => f.write_str(outcome.word()),
            (Some(outcome), blocked) => write!(f, "{outcome} ({blocked})"),
        }
    }
}

/// The name of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The agent.
    pub agent: String,
    /// Its release.
    pub version: String,
    /// The scenario.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
}

impl Key {
    /// The command that runs it.
    pub fn command(&self) -> String {
        let Key { agent, version, scenario, terminal } = self;
        let quote = if scenario.contains(['[', ' ']) { "'" } else { "" };
        format!("rehang upstream {agent}@{version} {quote}{scenario}{quote} --terminal {terminal}")
    }
}

fn never_asked(report: &Report) -> String {
    let how = match report.exit {
        Some(Exit::Code(code)) => format!("exit code {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => report.outcome.kind().word().to_owned(),
    };
    let last = last_said(report).map(|said| format!(": {said}")).unwrap_or_default();
    format!("it ended before it asked its model ({how}){last}")
}

/// The agent's last line on stderr, else its last one at all.
fn last_said(report: &Report) -> Option<&str> {
    let said =
        |line: &&Line| matches!(line.via, Via::Stderr | Via::Screen | Via::Stdout) && !line.text.trim().is_empty();
    let errors = report.lines.iter().rfind(|line| line.via == Via::Stderr && !line.text.trim().is_empty());
    errors.or_else(|| report.lines.iter().rfind(said)).map(|line| line.text.trim())
}

/// What `rehang supervise` told on the agent's stderr: what it found last, did, and how it ended.
fn supervised(report: &Report) -> Vec<serde_json::Value> {
    let told = report.lines.iter().filter(|line| matches!(line.via, Via::Stderr | Via::Screen));
    let events = told.filter_map(|line| serde_json::from_str(line.text.trim()).ok());
    let kept = |event: &serde_json::Value| {
        ["look", "plan", "act", "end"].iter().any(|kind| event["v"] == 1 && event["event"] == *kind)
    };
    let mut all: Vec<serde_json::Value> = events.filter(kept).collect();
    for event in &mut all {
        // whole process lists say nothing beyond the sentence
        if let Some(event) = event.as_object_mut().filter(|event| event.contains_key("waits")) {
            event.retain(|key, _| !["processes", "waits", "last_line"].contains(&key.as_str()));
        }
    }
    all
}

fn waits(report: &Report) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for process in &report.processes {
        let name = process.command.split_whitespace().next().and_then(|p| p.rsplit('/').next()).unwrap_or("?");
        for thread in &process.threads {
            let Some(call) = &thread.syscall else { continue };
            let on = thread.waits_on.as_ref().map(|on| format!(" on {on}")).unwrap_or_default();
            let limit = thread.limit_ms.map_or(" without limit".to_owned(), |ms| format!(" for {ms} ms"));
            let line = clip(&format!("{name}/{}: {call}{on}{limit}", thread.name));
            if !all.contains(&line) {
                all.push(line);
            }
        }
    }
    all.truncate(KEPT);
    all
}

fn clip(text: &str) -> String {
    let end = text.floor_char_boundary(text.len().min(TOLD_BYTES));
    let mut out: String = text[..end].chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    if end < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_live::{Evidence, Requests};

    fn seen(outcome: Outcome, problem: &str) -> Row {
        let name = |text: &str| text.to_owned();
        let key = Key { agent: name("mine"), version: name("1.0.0"), scenario: name("text"), terminal: name("null") };
        Row::seen(&key, "of", &report(outcome, problem))
    }

    fn report(outcome: Outcome, problem: &str) -> Report {
        Report {
            outcome,
            evidence: Evidence::Exited,
            exit: Some(Exit::Code(0)),
            ms: 7,
            startup_ms: Some(1),
            told: Vec::new(),
            requests: Requests { main: 2, side: 0 },
            asks: Vec::new(),
            last_progress: None,
            processes: Vec::new(),
            hot_loop: false,
            problems: vec![problem.to_owned()],
            links: Vec::new(),
            lines: Vec::new(),
            lines_left_out: 0,
            routes: None,
            virtual_time: None,
        }
    }

    #[test]
    fn who_hangs_before_it_asks_its_model_is_quoted() {
        let name = |text: &str| text.to_owned();
        let key = Key { agent: name("mine"), version: name("1.0.0"), scenario: name("text"), terminal: name("null") };
        let said = |via, text: &str| Line { ms: 1, via, text: name(text) };
        let mut report = report(Outcome::Hung { blocked_on: name("start") }, "not one request came");
        report.lines = vec![said(Via::Stderr, "No module named 'mcp'"), said(Via::Stdout, "waiting")];
        let problems = |report: &Report| Row::seen(&key, "of", report).problems;
        assert_eq!(problems(&report), ["not one request came"], "what it says after a request is no reason");
        report.requests.main = 0;
        assert_eq!(problems(&report), ["not one request came", "it last said: No module named 'mcp'"]);
    }

    #[test]
    fn what_has_no_end_is_compared_by_what_it_is_blocked_on() {
        let no_end = seen(Outcome::NoEnd { blocked_on: "question".to_owned() }, "").verdict();
        assert_eq!(no_end.to_string(), "no-end (question)");
        let undecided = seen(Outcome::Undecided { why: "the real time was used up".to_owned() }, "").verdict();
        assert_eq!(undecided.to_string(), "undecided");
    }

    #[test]
    fn a_row_names_the_command_that_shows_it_again() {
        let row = seen(Outcome::Completed, "");
        let plain = Virtual {
            until: rehang_live::HORIZON,
            within: Duration::ZERO,
            skip_tickers: None,
            seed: None,
            looks: None,
        };
        let command = |settings: &Virtual| row.clone().on_clock(Some(settings)).command;
        let whole = "rehang upstream mine@1.0.0 text --terminal null";
        assert_eq!(command(&plain), whole);
        assert_eq!(row.clone().on_clock(None).command, format!("{whole} --clock wall"));
        let skip_tickers = Some(Duration::from_secs(10));
        let other = Virtual { until: Duration::from_secs(360), skip_tickers, seed: Some(1), ..plain };
        assert_eq!(command(&other), format!("{whole} --until 6m --skip-tickers 10s --seed 1"));
    }

    #[test]
    fn an_agent_without_end_may_never_have_asked_its_model() {
        let name = |text: &str| text.to_owned();
        let key = Key { agent: name("mine"), version: name("1.0.0"), scenario: name("text"), terminal: name("null") };
        for outcome in [Outcome::NoEnd { blocked_on: name("stdin") }, Outcome::Undecided { why: name("no proof") }] {
            let mut report = report(outcome, "");
            report.requests.main = 0;
            assert!(Row::seen(&key, "of", &report).outcome.is_some());
        }
    }

    #[test]
    fn an_end_beyond_the_script_is_no_outcome() {
        let beyond = "request 3: the script has no response 2";
        let row = seen(Outcome::Completed, beyond);
        assert_eq!(row.outcome, None);
        assert_eq!(row.detail, "its end is no part of the scenario: the script has no response 2");
        let hung = seen(Outcome::Hung { blocked_on: "hot-loop".to_owned() }, beyond);
        assert_eq!(hung.verdict().to_string(), "hung (hot-loop)", "a loop beyond the script is what was seen");
        assert_eq!(seen(Outcome::Completed, "request 3: another").outcome, Some(OutcomeKind::Completed));
    }
}
