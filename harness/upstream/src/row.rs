//! The row of a report: what came of one cell of a real release, as it is kept and compared.
//!
//! Invariant: a row is either something seen (an outcome with its evidence) or a reason why nothing could be.

pub use rehang_compat::{Key, Row, Verdict};

use rehang_live::{Evidence, Exit, Line, Outcome, Report, Via, Virtual};
use rehang_model_server::BEYOND_SCRIPT;
use rehang_scenario::{OutcomeKind, Span};
use std::time::Duration;

/// The most bytes that are kept of a text that an agent tells its model.
const TOLD_BYTES: usize = 300;
/// The most texts, and the most waits, that are kept.
const KEPT: usize = 8;
/// The most requests whose times are kept.
const ASKED: usize = 16;

/// A row of today without an outcome, for a cell that could not run.
pub fn unrun(key: &Key, of: &str, why: String) -> Row {
    Row { day: super::day::today(), ..Row::unrun(key, of, why) }
}

/// The row of a report. An agent that ended before it asked its model has not played the scenario, so the row has
/// no outcome; nor has one that went on beyond the script's end and completed there.
pub fn seen(key: &Key, of: &str, report: &Report) -> Row {
    let kind = report.outcome.kind();
    if report.requests.main == 0 && !kind.is_hang() && kind != OutcomeKind::Undecided {
        let (supervised, virtual_time) = (supervised(report), report.virtual_time.clone());
        return Row { ms: report.ms, supervised, virtual_time, ..unrun(key, of, clip(&never_asked(report))) };
    }
    if let Some(problem) = report.problems.iter().find(|problem| problem.contains(BEYOND_SCRIPT))
        && report.outcome == Outcome::Completed
    {
        let problem = problem.split_once(": ").map_or(problem.as_str(), |(_, problem)| problem);
        let why = format!("its end is no part of the scenario: {problem}");
        let (asked, virtual_time) = (asked(report), report.virtual_time.clone());
        let startup_ms = report.startup_ms;
        return Row { ms: report.ms, startup_ms, asked, virtual_time, ..unrun(key, of, clip(&why)) };
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
        evidence: known(report.evidence),
        exit,
        ms: report.ms,
        startup_ms: report.startup_ms,
        asked: asked(report),
        told: report.told.iter().take(KEPT).map(|told| clip(told)).collect(),
        asks: asks.take(KEPT).collect(),
        waits: waits(report),
        hot_loop: report.hot_loop,
        problems,
        links: report.links.clone(),
        supervised: supervised(report),
        virtual_time: report.virtual_time.clone(),
        runs: 1,
        ..unrun(key, of, String::new())
    }
}

/// The same row, with the command that shows it again on its clock: on the wall clock without `settings`.
#[must_use]
pub fn on_clock(row: Row, settings: Option<&Virtual>) -> Row {
    let Some(settings) = settings else {
        return Row { command: format!("{} --clock wall", row.command), ..row };
    };
    let mut command = row.command.clone();
    let span = |span: Duration| Span::ms(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    let until = Some(settings.until).filter(|until| *until != rehang_live::HORIZON);
    let spans = [("until", until), ("skip-tickers", settings.skip_tickers)];
    for (name, of) in spans.into_iter().filter_map(|(name, of)| Some((name, of?))) {
        command.push_str(&format!(" --{name} {}", span(of)));
    }
    if let Some(seed) = settings.seed {
        command.push_str(&format!(" --seed {seed}"));
    }
    Row { command, ..row }
}

fn known(evidence: Evidence) -> rehang_compat::Evidence {
    use rehang_compat::Evidence as Known;
    match evidence {
        Evidence::Exited => Known::Exited,
        Evidence::Settled => Known::Settled,
        Evidence::Observed { window_ms } => Known::Observed(Span::ms(window_ms)),
        Evidence::Repeats { requests } => Known::Repeats(requests),
        Evidence::Deadline { .. } => Known::Deadline,
        Evidence::Proved => Known::Proved,
        Evidence::Horizon { until_ms } => Known::Horizon(Span::ms(until_ms)),
        Evidence::Undecided => Known::Undecided,
    }
}

/// When each main request came, after the first of them.
fn asked(report: &Report) -> Vec<u64> {
    let model = report.lines.iter().filter(|line| line.via == Via::Model);
    let main = model.filter(|line| super::record::asked(&line.text).is_some());
    let first = report.startup_ms.unwrap_or_default();
    main.map(|line| line.ms.saturating_sub(first)).take(ASKED).collect()
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
    use rehang_live::Requests;

    fn seen(outcome: Outcome, problem: &str) -> Row {
        let name = |text: &str| text.to_owned();
        let key = Key { agent: name("mine"), version: name("1.0.0"), scenario: name("text"), terminal: name("null") };
        super::seen(&key, "of", &report(outcome, problem))
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
        let problems = |report: &Report| super::seen(&key, "of", report).problems;
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
        let command = |settings: &Virtual| on_clock(row.clone(), Some(settings)).command;
        let whole = "rehang upstream mine@1.0.0 text --terminal null";
        assert_eq!(command(&plain), whole);
        assert_eq!(on_clock(row.clone(), None).command, format!("{whole} --clock wall"));
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
            assert!(super::seen(&key, "of", &report).outcome.is_some());
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
