//! `rehang-lab record --screen`: what a release's terminal shows at moments whose truth is known.
//!
//! The release runs in virtual time on a terminal of a given size. All that it writes there is kept with its instant, and
//! the screen of a moment is made again from what came until then.
//!
//! Invariant: a moment that the scripted model and the process table did not see is not recorded, and the reason is told.

use rehang_agents::{Call, Installed, Recipe, Wish};
use rehang_live::{LiveError, Report, ScreenKind, ScreenSize, Via, Virtual};
use rehang_oracle::{By, Oracle, Said};
use rehang_runner::binaries::{fakes, own_binary};
use rehang_scenario::{Form, Terminal};
use rehang_screens::{Moment, Osc, Proc, Recording, Response, Seen, WhySays, label, mask_line, mask_sentence};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use vt100::{Callbacks, Parser, Screen};

/// The generator of random numbers, so that a release chooses the same words in each run.
const SEED: u64 = 1;
/// The most real time that a run may take.
const WITHIN: Duration = Duration::from_secs(420);
/// How long a run goes on after its moment.
const AFTER: Duration = Duration::from_millis(100);
/// How long is looked for tries of a request that fails.
const TRIES: Duration = Duration::from_secs(16);
/// Since when changes of the title count, before the moment.
const TITLES_MS: u64 = 5_000;
/// Numbers of operating system commands that say nothing of the agent's state: titles (kept apart), colours, links, the
/// clipboard.
const OSC_LEFT_OUT: [u32; 11] = [0, 1, 2, 4, 8, 10, 11, 12, 22, 52, 66];

/// Records a release at a moment.
///
/// # Errors
/// Why there is no recording.
pub fn record(moment: Moment, recipe: &Recipe, installed: &Installed, screen: ScreenKind) -> Result<Recording, String> {
    let scenario = moment.scenario(if recipe.agent == "opencode" { 2 } else { 1 })?;
    let recipe = on_a_terminal(recipe, moment);
    let cell = rehang_live::Cell {
        scenario: &scenario,
        recipe: &recipe,
        installed,
        terminal: Terminal::Tty,
        deadline: Duration::from_secs(60),
        rehang: own_binary().map_err(|error| error.to_string())?,
        fakes: fakes().map_err(|error| error.to_string())?,
        supervised: None,
        signal: None,
        counts_left: false,
    };
    let play = |at: Duration, more: Duration| {
        let settings = Virtual { until: at + more, within: WITHIN, skip_tickers: None, seed: Some(SEED), looks: None };
        rehang_live::run_on_screen(&cell, &settings, screen, Oracle::ending_at(&[at]))
    };
    let mut at = moment.at();
    let mut tries_again = false;
    if moment.is_between_tries() {
        let (report, _) = play(Duration::from_secs(1), TRIES).map_err(failed)?;
        at = between_tries(&report).ok_or("the release does not try again")?;
        tries_again = true;
    }
    let (report, looks) = play(at, AFTER).map_err(failed)?;
    let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
    let ended = report.virtual_time.as_ref().map_or(0.0, |time| time.seconds);
    if report.exit.is_some() || ended < at.as_secs_f64() {
        let last = report.problems.join("; ");
        return Err(format!("it was over after {ended:.1} s ({:?}): {last}", report.outcome));
    }
    let seen = Seen { tries_again, ..seen(&report, moment.is_prompted(), at_ms) };
    let label = label(&scenario, &seen);
    if label != moment.label() || !moment.is_reached(&seen) {
        let problems = report.problems.join("; ");
        return Err(format!("not reached: {} ({seen:?}) {problems}", label.words()));
    }
    let said: Vec<&Said> = looks.said().iter().filter(|said| said.by == By::Why).collect();
    // the supervisor and the sandbox's first process come before it
    let agent = said.iter().find(|said| !said.program.starts_with("rehang")).ok_or("nobody looked at it")?;
    let why = WhySays {
        verdict: serde_json::to_value(agent.verdict)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default(),
        sure: agent.sure.to_owned(),
        signature: agent.signature.to_string(),
        sentence: mask_sentence(&agent.sentence),
        hung_in_ms: agent.hung_in_ms,
    };
    Ok(Recording { why, processes: processes(&report), ..shown(moment, label, &report, at_ms, seen, screen.size) })
}

fn failed(error: LiveError) -> String {
    error.to_string()
}

/// The recipe of a release that is started on a terminal as a user starts it.
fn on_a_terminal(recipe: &Recipe, moment: Moment) -> Recipe {
    let mut recipe = recipe.clone();
    if let Some(start) = recipe.forms.get_mut(&Form::Interactive)
        && !moment.is_prompted()
    {
        start.args = start.bare.clone().unwrap_or_else(|| vec!["{args}".to_owned()]);
    }
    let args = |args: &[&str]| Wish { args: args.iter().map(|arg| (*arg).to_owned()).collect(), ..Wish::default() };
    match recipe.agent.as_str() {
        // its other way to allow everything shows a dialog in a fresh home
        "claude" => recipe.allow = args(&["--permission-mode", "default", "--allowedTools", "Bash"]),
        "codex" => {
            recipe.ask = args(&["--ask-for-approval", "on-request", "--sandbox", "read-only"]);
            if let Some(bash) = recipe.tools.get_mut(&Call::Bash).filter(|_| moment == Moment::Permission) {
                // it asks where the model says that the sandbox must not hold the command
                bash.arguments["sandbox_permissions"] = Value::from("require_escalated");
                bash.arguments["justification"] = Value::from("It writes into the folder.");
            }
            for text in recipe.files.values_mut() {
                // as often as it tries if nothing else is said; and its question about the folder is answered
                *text = text.replace("request_max_retries = 0\nstream_max_retries = 0\n", "");
                text.push_str("\n[projects.\"{cwd}\"]\ntrust_level = \"trusted\"\n");
            }
        }
        _ => {}
    }
    recipe
}

/// An event of the scripted model: the response that is asked for, or how a response goes on.
fn events(report: &Report) -> impl Iterator<Item = (u64, Value)> + '_ {
    let lines = report.lines.iter().filter(|line| line.via == Via::Model);
    lines.filter_map(|line| Some((line.ms, serde_json::from_str(&line.text).ok()?)))
}

/// The instant in the middle of the longest wait between two tries, the first one left out if there are several.
fn between_tries(report: &Report) -> Option<Duration> {
    let tries: Vec<u64> = events(report).filter(|(_, e)| e["request"]["path"].is_string()).map(|(ms, _)| ms).collect();
    let waits = tries.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
    let (wait, from) = waits.max_by_key(|(wait, _)| *wait)?;
    (wait >= 100).then(|| Duration::from_millis(from + wait / 2))
}

/// What the scripted model and the process table saw until this instant.
fn seen(report: &Report, prompted: bool, at_ms: u64) -> Seen {
    let mut seen = Seen { prompted, requests: 0, response: Response::None, tool_runs: false, tries_again: false };
    let mut latest = Value::Null;
    for (_, event) in events(report).take_while(|(ms, _)| *ms <= at_ms) {
        if event["request"]["path"].is_string() {
            seen.requests += 1;
            seen.response = Response::Silent;
            latest = event["n"].clone();
        } else if event["n"] == latest && !latest.is_null() {
            let state = &event["stream"];
            match (state["chunk"].as_u64(), &state["ended"]) {
                (Some(chunks), _) => seen.response = Response::Open(u32::try_from(chunks).unwrap_or(u32::MAX)),
                (None, Value::Null) => {}
                (None, Value::String(how)) if how == "whole" => seen.response = Response::Whole,
                (None, Value::String(how)) if how == "client-gone" => seen.response = Response::Left,
                (None, _) => seen.response = Response::Failed,
            }
        }
    }
    seen.tool_runs = report.processes.iter().any(|process| process.command.contains("fake-tool"));
    seen
}

/// The agent's processes, each by its program's name.
fn processes(report: &Report) -> Vec<Proc> {
    let program = |command: &str| {
        let mut words = command.split(' ').map(|word| word.rsplit('/').next().unwrap_or(word));
        let first = words.next().unwrap_or_default().to_owned();
        // a script is known by its own name
        match words.find(|word| !word.starts_with('-')).filter(|_| first == "node" || first == "sh") {
            Some(script) => format!("{first} {script}"),
            None => first,
        }
    };
    let of = |process: &rehang_live::Process| {
        let first = process.threads.first();
        Proc {
            program: program(&process.command),
            threads: process.threads.len(),
            call: first.and_then(|thread| thread.syscall.clone()),
            limit_ms: first.and_then(|thread| thread.limit_ms),
        }
    };
    report.processes.iter().map(of).collect()
}

/// What is beside the characters.
#[derive(Default)]
struct Beside {
    ms: u64,
    title: String,
    /// When the title changed.
    titles: Vec<u64>,
    bells: u32,
    osc: BTreeMap<u32, (String, u32)>,
}

impl Callbacks for Beside {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.bells += 1;
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        let title = String::from_utf8_lossy(title).trim_end().to_owned();
        if title != self.title {
            self.title = title;
            self.titles.push(self.ms);
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        let texts: Vec<_> = params.iter().map(|param| String::from_utf8_lossy(param)).collect();
        let Some((number, rest)) = texts.split_first() else { return };
        if let Ok(number) = number.parse()
            && !(OSC_LEFT_OUT.contains(&number) && !(number == 4 && rest.len() == 1))
        {
            let (text, count) = self.osc.entry(number).or_default();
            (*text, *count) = (rest.join(";"), *count + 1);
        }
    }
}

/// What the terminal shows at this instant.
fn shown(
    moment: Moment,
    label: rehang_screens::Label,
    report: &Report,
    at_ms: u64,
    seen: Seen,
    size: ScreenSize,
) -> Recording {
    let mut parser = Parser::new_with_callbacks(size.rows, size.columns, 0, Beside::default());
    let (mut still, mut still_styled) = (0, 0);
    let (mut text, mut styled) = (String::new(), Vec::new());
    let written = report.lines.iter().filter(|line| line.via == Via::Screen && line.ms <= at_ms);
    for line in written {
        parser.callbacks_mut().ms = line.ms;
        parser.process(line.text.as_bytes());
        let (now, now_styled) = (parser.screen().contents(), parser.screen().contents_formatted());
        if now != text {
            (text, still) = (now, line.ms);
        }
        if now_styled != styled {
            (styled, still_styled) = (now_styled, line.ms);
        }
    }
    let mut lines: Vec<String> = text.lines().map(|line| mask_line(line.trim_end())).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let alternate = parser.screen().alternate_screen();
    let beside = std::mem::take(parser.callbacks_mut());
    let titles = beside.titles.iter().filter(|ms| at_ms - **ms <= TITLES_MS).count();
    Recording {
        moment,
        label,
        at_ms,
        seen,
        screen: lines,
        still_ms: at_ms - still,
        still_styled_ms: at_ms - still_styled,
        title: beside.title,
        titles: u32::try_from(titles).unwrap_or(u32::MAX),
        osc: beside.osc.into_iter().map(|(number, (text, count))| Osc { number, text, count }).collect(),
        bells: beside.bells,
        alternate,
        processes: Vec::new(),
        why: WhySays {
            verdict: String::new(),
            sure: String::new(),
            signature: String::new(),
            sentence: String::new(),
            hung_in_ms: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_live::{Evidence, Line, Outcome};
    use rehang_screens::Label;

    fn report(lines: &[(u64, Via, &str)]) -> Report {
        let line = |(ms, via, text): &(u64, Via, &str)| Line { ms: *ms, via: *via, text: (*text).to_owned() };
        Report {
            outcome: Outcome::Completed,
            evidence: Evidence::Exited,
            exit: None,
            ms: 0,
            startup_ms: None,
            told: Vec::new(),
            requests: rehang_live::Requests::default(),
            asks: Vec::new(),
            last_progress: None,
            processes: Vec::new(),
            hot_loop: false,
            problems: Vec::new(),
            links: Vec::new(),
            lines: lines.iter().map(line).collect(),
            lines_left_out: 0,
            routes: None,
            virtual_time: None,
        }
    }

    const ASKED: &str = r#"{"n":2,"request":{"path":"1","response":1}}"#;

    #[test]
    fn what_the_model_saw_counts_up_to_the_moment() {
        let report = report(&[
            (5, Via::Model, r#"{"n":1,"request":{"side":"title"}}"#),
            (10, Via::Model, ASKED),
            (20, Via::Model, r#"{"n":1,"stream":{"ended":"whole"}}"#),
            (30, Via::Model, r#"{"n":2,"stream":{"chunk":3}}"#),
            (40, Via::Model, r#"{"n":2,"stream":{"ended":"reset"}}"#),
            (2_040, Via::Model, ASKED),
            (2_050, Via::Model, r#"{"n":2,"stream":{"ended":"client-gone"}}"#),
        ]);
        let response = |at_ms| seen(&report, true, at_ms).response;
        let all = [9, 29, 30, 40, 2_040, 2_050].map(response);
        let expected =
            [Response::None, Response::Silent, Response::Open(3), Response::Failed, Response::Silent, Response::Left];
        assert_eq!(all, expected);
        assert_eq!(between_tries(&report), Some(Duration::from_millis(1_025)));
        assert_eq!((seen(&report, true, 40).requests, seen(&report, true, 3_000).requests), (1, 2));
    }

    #[test]
    fn a_screen_is_what_was_written_until_the_moment() {
        let report = report(&[
            (100, Via::Screen, "\x1b]0;one\x07first\r\n"),
            (6_000, Via::Screen, "\x1b]0;two \x07\x07\x1b]9;4;3;\x07second"),
            (7_000, Via::Screen, "\x1b[1;1H\x1b[31mfirst"),
            (9_000, Via::Screen, "\x1b[2J"),
        ]);
        let seen = seen(&report, false, 0);
        let size = ScreenSize { columns: 20, rows: 4 };
        let shown = shown(Moment::Started, Label::Waiting, &report, 8_000, seen, size);
        assert_eq!(shown.screen, ["first", "second"]);
        assert_eq!((shown.still_ms, shown.still_styled_ms), (2_000, 1_000), "only its colour changed at 7 s");
        assert_eq!((shown.title.as_str(), shown.titles, shown.bells), ("two", 1, 1));
        assert_eq!(shown.osc, [Osc { number: 9, text: "4;3;".to_owned(), count: 1 }]);
    }
}
