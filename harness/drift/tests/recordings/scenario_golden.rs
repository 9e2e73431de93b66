//! The fakes against recordings of whole scenarios: `fake-agents/tests/golden/scenarios/AGENT/NAME.toml`, and, for each
//! release that was recorded, `golden/AGENT-VERSION/scenario/NAME.jsonl`, as `rehang-lab record` writes it.
//!
//! What is compared: every line of stdout ([`rehang_drift::streams::compare`]), how the run ended, and the requests to the
//! model: which responses were asked for, in order, and how long after one another, so that a wait, a limit and a retry
//! count too. Invariant: each scenario has a recording, and each recording a scenario.

use crate::golden::{entries, root, stem};
use crate::released::setup;
use rehang_drift::streams::{Ends, Line, compare, read};
use rehang_drift::{Compared, Difference};
use rehang_os::os::{Exit, Sig};
use rehang_scenario::Terminal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How far the time between two requests may be from the recorded one: the machine took its time, and releases add or
/// take some of a wait at random.
const SLACK_MS: u64 = 1_500;
/// The same, in percent of the longer of the two: 0.29.0 of Gemini CLI adds or takes up to 30 %.
const SLACK_PERCENT: u64 = 30;

/// What a release waits for where its recording has no end.
const HANGS: &[(&str, &str, &str)] = &[
    ("claude-1.0.128", "held-after-result", "message"),
    ("claude-2.0.77", "held-after-result", "message"),
    ("claude-2.1.329", "held-after-result", "message"),
    ("claude-1.0.128", "keep-alive", "model"),
    ("claude-2.0.77", "keep-alive", "model"),
    ("claude-2.1.329", "keep-alive", "model"),
    ("claude-1.0.128", "stdin-open", "stdin"),
    ("claude-2.0.77", "stdin-open", "stdin"),
    ("claude-1.0.128", "hook-stop-again", "model"),
    ("claude-2.0.77", "hook-stop-again", "model"),
    ("claude-2.1.329", "hook-stop-again", "model"),
    ("claude-1.0.128", "io-hook-limit", "message"),
    ("claude-2.1.329", "io-hook-limit", "message"),
    ("claude-2.0.77", "mcp-http-call-cut", "tool"),
    ("claude-2.0.77", "mcp-http-call-dies", "tool"),
    ("claude-2.0.77", "mcp-http-call-stall", "tool"),
    ("codex-0.45.0", "bash-group", "pipe"),
    ("gemini-0.11.3", "stdin-first-byte", "stdin"),
    ("gemini-0.29.0", "stdin-first-byte", "stdin"),
    ("gemini-0.29.0", "terminal-positional", "message"),
    ("gemini-0.61.0", "terminal-positional", "message"),
    ("gemini-0.61.0", "stdin-first-byte", "stdin"),
    ("opencode-1.0.185", "stdin-open", "stdin"),
    ("opencode-1.2.15", "stdin-open", "stdin"),
    ("opencode-1.3.2", "stdin-open", "stdin"),
    ("opencode-1.18.33", "stdin-open", "stdin"),
    ("opencode-1.0.185", "stall", "model"),
    ("opencode-1.2.15", "stall", "model"),
    ("opencode-1.3.2", "stall", "model"),
];

/// Each recording with the scenario that it is of: the folder's name, the scenario's, both files.
fn recordings() -> Vec<(String, String, PathBuf, PathBuf)> {
    let mut all = Vec::new();
    for release in entries(&root()).into_iter().filter(|path| path.join("scenario").is_dir()) {
        let release_name = release.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (agent, _) = release_name.split_once('-').expect("AGENT-VERSION");
        for file in entries(&release.join("scenario")) {
            let scenario = root().join(format!("scenarios/{agent}/{}.toml", stem(&file)));
            all.push((release_name.clone(), stem(&file), scenario, file));
        }
    }
    all
}

/// What was recorded, and what the fake does in its place.
fn played(release: &str, name: &str, scenario: &Path, file: &Path, change: impl Fn(&mut Value)) -> Compared {
    let text = std::fs::read_to_string(file).expect("a recording");
    let mut lines: Vec<Line> = read(&text).expect("JSON lines");
    lines.iter_mut().for_each(|line| change(&mut line.message));
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |dir: &str| all.iter().find(|line| line["dir"] == dir);
    let exit = of("EXIT").map(|line| exit(&line["msg"]));
    let ends = match (exit, of("SIGNAL")) {
        (Some(exit), Some(sent)) => Ends::Signalled {
            sig: Sig::ALL.into_iter().find(|sig| sent["msg"] == sig.name()).expect("a signal"),
            after_ms: millis(&sent["t"]) - millis(&of("MODEL").expect("a request")["t"]),
            exit,
        },
        (Some(Exit::Code(code)), None) => Ends::Exit(code),
        (Some(Exit::Signal(sig)), None) => Ends::Killed(sig),
        (None, _) => {
            let known = HANGS.iter().find(|(of, what, _)| *of == release && *what == name);
            Ends::Hangs(known.map_or("what is not in HANGS", |(.., on)| on).to_owned())
        }
    };
    let version = release.rsplit_once('-').map_or("", |(_, version)| version);
    let setup = setup(None, version, scenario);
    let on_screen = setup.terminal == Terminal::Tty;
    let mut compared = compare(setup, &lines, None, &ends);
    let left = of("LEFT").and_then(|line| line["msg"].as_array()).map(Vec::len);
    if let Some(left) = left.filter(|left| *left != compared.left) {
        let (recorded, fake) = (Some(json!(left)), Some(json!(compared.left)));
        compared.differences.push(Difference { at: "what goes on after its end".to_owned(), recorded, fake });
    }
    if on_screen {
        // what a release draws is no text of lines, and the fake draws no screen: how it ends and what it asks count
        compared.differences.retain(|one| !one.at.starts_with("lines"));
    }
    let asked: Vec<u64> = all.iter().filter(|line| line["dir"] == "MODEL").map(|line| millis(&line["t"])).collect();
    let fake: Vec<u64> = compared.asked.iter().map(|at| at.0).collect();
    let difference = |at: String, recorded: &[u64], fake: &[u64]| Difference {
        at,
        recorded: Some(json!(recorded)),
        fake: Some(json!(fake)),
    };
    if asked.len() != fake.len() {
        compared.differences.push(difference("requests to the model, in ms".to_owned(), &asked, &fake));
    } else {
        let host: Vec<u64> = all.iter().filter(|line| line["dir"] == "IN").map(|line| millis(&line["t"])).collect();
        for (at, (recorded, fake)) in asked.windows(2).zip(fake.windows(2)).enumerate() {
            // a host's own time is not the agent's
            if host.iter().any(|at| (recorded[0]..=recorded[1]).contains(at)) {
                continue;
            }
            let (waited, waits) = (recorded[1].saturating_sub(recorded[0]), fake[1].saturating_sub(fake[0]));
            if waited.abs_diff(waits) > SLACK_MS.max(waited.max(waits) * SLACK_PERCENT / 100) {
                compared.differences.push(difference(format!("the wait before request {}", at + 2), recorded, fake));
            }
        }
    }
    compared
}

/// A code, or `signal 15`.
fn exit(recorded: &Value) -> Exit {
    let number = |text: &str| text.strip_prefix("signal ").and_then(|number| number.parse::<u8>().ok());
    match (recorded.as_u64(), recorded.as_str().and_then(number)) {
        (Some(code), _) => Exit::Code(u8::try_from(code).expect("an exit code")),
        (None, Some(number)) => {
            Exit::Signal(Sig::ALL.into_iter().find(|sig| sig.number() == number).expect("a signal's number"))
        }
        (None, None) => panic!("no end: {recorded}"),
    }
}

fn millis(seconds: &Value) -> u64 {
    (seconds.as_f64().expect("seconds") * 1_000.0) as u64
}

#[test]
fn every_recorded_scenario_is_played_the_same() {
    let mut wrong = Vec::new();
    for (release, name, scenario, file) in recordings() {
        let compared = played(&release, &name, &scenario, &file, |_| {});
        wrong.extend(compared.differences.iter().map(|one| format!("{release}/{name}: {one}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_scenario_has_a_recording_and_what_is_changed_in_one_is_noticed() {
    let all = recordings();
    for agent in entries(&root().join("scenarios")) {
        for scenario in entries(&agent) {
            assert!(all.iter().any(|(.., of, _)| *of == scenario), "{}: no recording", scenario.display());
        }
    }
    for (release, name, from, to) in [
        ("claude-2.0.77", "bash-fails", "Exit code 3", "Exit code 4"),
        ("claude-2.1.329", "status-429-twice", "rate_limit", "server_error"),
        ("codex-0.58.0", "bash-group", "started", "begun"),
        ("gemini-0.29.0", "leaves", "Background PIDs", "PIDs"),
        ("opencode-1.18.33", "bash-default", "shell_metadata", "bash_metadata"),
    ] {
        let (.., scenario, file) = all
            .iter()
            .find(|(of, what, ..)| of == release && what == name)
            .unwrap_or_else(|| panic!("{release}/{name}"));
        let change = |message: &mut Value| {
            *message = serde_json::from_str(&message.to_string().replace(from, to)).expect("it stays JSON");
        };
        assert!(!played(release, name, scenario, file, change).differences.is_empty(), "not noticed: {from}");
    }
}

/// A wait that is not the recorded one is a difference: 0.29.0 runs the calls of one response one after the other, and
/// 0.61.0 at the same time.
#[test]
fn another_wait_is_noticed() {
    let all = recordings();
    let of = |release: &str| {
        all.iter().find(|(of, what, ..)| of == release && what == "two-bashes").expect("it is recorded").clone()
    };
    let ((.., scenario, one), (.., other)) = (of("gemini-0.29.0"), of("gemini-0.61.0"));
    let waits = |file: &Path, release: &str| {
        let differences = played(release, "two-bashes", &scenario, file, |_| {}).differences;
        differences.iter().any(|difference| difference.at.starts_with("the wait before request"))
    };
    assert!(!waits(&one, "gemini-0.29.0") && waits(&other, "gemini-0.29.0"));
}

/// What Codex asks in its user's name is what its fake shows on stderr without `--json`, below `user`.
#[test]
fn what_codex_is_prompted_with_is_what_it_asks() {
    let mut prompts = Vec::new();
    for (release, name, scenario, file) in recordings().into_iter().filter(|(release, ..)| release.starts_with("codex"))
    {
        let text = std::fs::read_to_string(&file).expect("a recording");
        let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let Some(prompt) = all.iter().find_map(|line| line["prompt"].as_str()) else { continue };
        let version = release.rsplit_once('-').map_or("", |(_, version)| version);
        let mut setup = setup(None, version, &scenario);
        setup.args.retain(|arg| arg != "--json");
        let sent: Vec<Line> = read(&text).expect("JSON lines").into_iter().filter(|line| line.sent).collect();
        let err = compare(setup, &sent, None, &Ends::Exit(0)).err;
        assert!(err.contains(&format!("\nuser\n{prompt}")), "{release}/{name}: {prompt:?} is not in\n{err}");
        prompts.push((name, prompt.to_owned()));
    }
    let block = prompts.iter().find(|(name, _)| name == "stdin-block").expect("it is recorded");
    assert!(block.1.contains("<stdin>"), "{block:?}");
}
