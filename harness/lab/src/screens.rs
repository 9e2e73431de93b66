//! `rehang-lab record --screen`: what a release's terminal shows at moments whose truth is known.
//!
//! The release runs in its sandbox, on the wall clock, on a terminal of a given size. All that it writes there is kept with
//! its instant, and the screen of a moment is made again from what came until then. `rehang why` looks at it as a user would.
//!
//! Invariant: a moment that the scripted model and the process table did not see is not recorded, and the reason is told.

use rehang_agents::{Call, Installed, Recipe, Wish};
use rehang_evidence::{Limits, Look, Options, SnapshotError, report::State};
use rehang_live::{LiveError, LookAt, Report, ScreenKind, ScreenSize, Via};
use rehang_runner::binaries::{fakes, own_binary};
use rehang_scenario::{Form, Terminal};
use rehang_screens::{
    Moment, OSC_OF_HOOKS, Osc, Proc, Recording, Response, Seen, WhySays, label, mask_line, mask_sentence,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use vt100::{Callbacks, Parser, Screen};

/// How long is waited for the next try of a request that fails.
const NEXT_TRY: Duration = Duration::from_secs(12);
/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(1_500);
/// How long `rehang why` looks, and how long a connection must be silent to count as such, if nothing else is said.
const WINDOW: Duration = Duration::from_secs(1);
const SILENT_MS: u64 = 60_000;
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
    let (is_asked, after) = moment.at();
    let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let at = if is_asked { LookAt::Request(after) } else { LookAt::Start(after) };
    let mut looks: Vec<(Result<WhySays, SnapshotError>, Instant)> = Vec::new();
    let mut over = Instant::now();
    let report = rehang_live::run_on_screen(&cell, screen, at, &mut |pid| {
        looks.push((why(pid), Instant::now()));
        std::thread::sleep(if moment.is_between_tries() { NEXT_TRY } else { BETWEEN });
        if !moment.is_between_tries() {
            looks.push((why(pid), Instant::now()));
        }
        over = Instant::now();
    });
    let report = report.map_err(failed)?;
    let end_ms = report.startup_ms.unwrap_or(0) + report.ms;
    if looks.is_empty() || report.exit.is_some() {
        let last = report.problems.join("; ");
        return Err(format!("it was over after {end_ms} ms ({:?}): {last}", report.outcome));
    }
    let mut recordings = Vec::new();
    for (why, then) in looks {
        let since = over.saturating_duration_since(then);
        let at_ms = end_ms.saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        let tried = events(&report).any(|(ms, event)| ms > at_ms && event["request"]["path"].is_string());
        let tries_again = moment.is_between_tries() && tried;
        let seen = Seen { tries_again, ..seen(&report, moment.is_prompted(), at_ms) };
        let label = label(&scenario, &seen);
        let shown = shown(moment, label, &report, at_ms, seen, screen.size);
        if label != moment.label() || !moment.is_reached(&seen) {
            let (problems, screen) = (report.problems.join("; "), shown.screen.join(" / "));
            return Err(format!("not reached: {} ({seen:?}) {problems} {screen}", label.words()));
        }
        if shown.screen.iter().all(|line| line.trim().is_empty()) {
            return Err("its screen is empty".to_owned());
        }
        let why = why.map_err(|error| error.to_string())?;
        recordings.push(Recording { why, processes: processes(&report), ..shown });
    }
    let first = recordings.remove(0);
    Ok(match recordings.first() {
        Some(second) => first.with(&recipe.agent, second),
        None => first,
    })
}

/// What `rehang why` says of a process.
fn why(pid: i32) -> Result<WhySays, SnapshotError> {
    let limits = Limits { silent_ms: SILENT_MS };
    let options = Options { ask: true, ..Options::default() };
    let look = rehang_evidence::look(&[pid], &options, &limits, WINDOW)?;
    Ok(says(&look))
}

/// The answer, without what changes from run to run.
fn says(look: &Look) -> WhySays {
    let diagnosis = &look.diagnosis;
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    WhySays {
        state: word(json!(State::of(diagnosis))),
        verdict: word(json!(diagnosis.verdict)),
        sure: diagnosis.sure_in_words().to_owned(),
        signature: diagnosis.signature.to_string(),
        sentence: mask_sentence(&diagnosis.sentence),
        hung_in_ms: diagnosis.hung_in_ms,
    }
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
        "claude" => {
            // its other way to allow everything shows a dialog in a fresh home
            recipe.allow = args(&["--permission-mode", "default", "--allowedTools", "Bash"]);
            let hooks =
                json!({ "hooks": hooks(&["SessionStart", "UserPromptSubmit", "PreToolUse", "Notification", "Stop"]) });
            let hooks = ["--settings".to_owned(), escaped(&hooks)];
            recipe.allow.args.extend(hooks.clone());
            recipe.ask.args.extend(hooks);
        }
        "gemini" => {
            let hooks = hooks(&["SessionStart", "BeforeAgent", "BeforeTool", "Notification", "AfterAgent"]);
            let server = recipe.server.iter_mut().flat_map(|server| server.files.values_mut());
            for text in recipe.files.values_mut().chain(server) {
                *text = text.replacen("{{", &format!(r#"{{{{"hooks":{},"#, escaped(&hooks)), 1);
            }
        }
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

/// Hooks that tell the agent's own terminal their names, in an operating system command.
fn hooks(names: &[&str]) -> Value {
    let of = |name: &&str| {
        // a process of the agent that has no terminal is left alone
        let command =
            format!("exec 9>/proc/$PPID/fd/1 && test -t 9 && printf '\\033]{OSC_OF_HOOKS};{name}\\007' >&9; true");
        ((*name).to_owned(), json!([{ "hooks": [{ "type": "command", "command": command }] }]))
    };
    Value::Object(names.iter().map(of).collect())
}

/// JSON as a text of a recipe.
fn escaped(value: &Value) -> String {
    value.to_string().replace('{', "{{").replace('}', "}}")
}

/// An event of the scripted model: the response that is asked for, or how a response goes on.
fn events(report: &Report) -> impl Iterator<Item = (u64, Value)> + '_ {
    let lines = report.lines.iter().filter(|line| line.via == Via::Model);
    lines.filter_map(|line| Some((line.ms, serde_json::from_str(&line.text).ok()?)))
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
            state: String::new(),
            verdict: String::new(),
            sure: String::new(),
            signature: String::new(),
            sentence: String::new(),
            hung_in_ms: None,
        },
        again: BTreeMap::new(),
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
