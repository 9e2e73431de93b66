//! The fakes against recordings of whole scenarios: `fake-agents/tests/golden/scenarios/AGENT/NAME.toml`, and, for each
//! release that was recorded, `golden/AGENT-VERSION/scenario/NAME.jsonl`, as `rehang record` writes it.
//!
//! What is compared: every line of stdout ([`rehang_drift::streams::compare`]), how the run ended, and the requests to the
//! model: which responses were asked for, in order, and how long after one another, so that a wait, a limit and a retry
//! count too. Invariant: each scenario has a recording, and each recording a scenario.

use rehang_drift::streams::{Ends, Line, compare, read};
use rehang_drift::{Compared, Difference, session::Setup};
use rehang_scenario::turns::Turn;
use rehang_scenario::{Scenario, Terminal, agents, load};
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
    ("codex-0.45.0", "bash-group", "pipe"),
    ("gemini-0.11.3", "stdin-first-byte", "stdin"),
    ("gemini-0.29.0", "stdin-first-byte", "stdin"),
    ("gemini-0.61.0", "stdin-first-byte", "stdin"),
    ("opencode-1.0.185", "stdin-open", "stdin"),
    ("opencode-1.2.15", "stdin-open", "stdin"),
    ("opencode-1.3.2", "stdin-open", "stdin"),
    ("opencode-1.18.33", "stdin-open", "stdin"),
    ("opencode-1.0.185", "stall", "model"),
    ("opencode-1.2.15", "stall", "model"),
    ("opencode-1.3.2", "stall", "model"),
];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fake-agents/tests/golden")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    all.sort();
    all
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Each recording with the scenario that it is of: the folder's name, the scenario's, both files.
fn recordings() -> Vec<(String, String, PathBuf, PathBuf)> {
    let mut all = Vec::new();
    for release in entries(&golden()).into_iter().filter(|path| path.join("scenario").is_dir()) {
        let release_name = release.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (agent, _) = release_name.split_once('-').expect("AGENT-VERSION");
        for file in entries(&release.join("scenario")) {
            let scenario = golden().join(format!("scenarios/{agent}/{}.toml", stem(&file)));
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
    let exit = all.iter().find(|line| line["dir"] == "EXIT").and_then(|line| line["msg"].as_u64());
    let ends = match exit {
        Some(code) => Ends::Exit(u8::try_from(code).expect("an exit code")),
        None => {
            let known = HANGS.iter().find(|(of, what, _)| *of == release && *what == name);
            Ends::Hangs(known.map_or("what is not in HANGS", |(.., on)| on).to_owned())
        }
    };
    let version = release.rsplit_once('-').map_or("", |(_, version)| version);
    let mut compared = compare(setup(version, scenario), &lines, None, &ends);
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

fn millis(seconds: &Value) -> u64 {
    (seconds.as_f64().expect("seconds") * 1_000.0) as u64
}

/// The fake as the recipe of its agent starts the release (`scenarios/agents`), with the commands of the sandbox.
fn setup(version: &str, scenario: &Path) -> Setup {
    let text = std::fs::read(scenario).unwrap_or_else(|error| panic!("{}: {error}", scenario.display()));
    let family = load(&stem(scenario), &text).into_result().unwrap_or_else(|e| panic!("{}: {e}", scenario.display()));
    let Scenario { mut agent, args, faults, mut turns, terminals, .. } =
        family.variants.into_iter().next().expect("a variant").scenario;
    agent.set_release(version);
    let mut calls = Calls::default();
    calls.named(&mut turns);
    let terminal = terminals.first().copied().unwrap_or(Terminal::Null);
    let driven = agent.is_driven() || args.iter().any(|arg| arg == "--input-format");
    // the words of a host that drives it are below
    let own = if driven && !agent.is_driven() { settings(&args) } else { args };
    let kind = *agent.kind();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut all = match () {
        () if kind == agents::CLAUDE && driven => {
            words("-p --output-format stream-json --verbose --input-format stream-json --permission-prompt-tool stdio")
        }
        () if kind == agents::CLAUDE => words("-p go --output-format stream-json --verbose"),
        () if kind == agents::CODEX => words(
            "exec --skip-git-repo-check --json -c model_providers.fake.request_max_retries=0 \
             -c model_providers.fake.stream_max_retries=0",
        ),
        () if kind == agents::GEMINI => words("-o stream-json"),
        () => words("run --format json"),
    };
    all.extend(words(match (kind.word, calls.asks) {
        ("claude", true) => "--permission-mode default",
        ("claude", false) => "--permission-mode bypassPermissions",
        ("codex", true) => "--sandbox read-only",
        ("codex", false) => "--dangerously-bypass-approvals-and-sandbox",
        ("gemini", true) => "--approval-mode default",
        ("gemini", false) => "--approval-mode yolo",
        _ => "",
    }));
    all.extend(own);
    // the recipe of these gives no prompt of its own
    let is_bare = stem(scenario).starts_with("no-prompt");
    all.extend(words(match kind.word {
        "claude" => "",
        _ if is_bare => "",
        "gemini" => "-p go",
        _ => "go",
    }));
    Setup { args: all, faults, ..Setup::of(agent, turns, if driven { Terminal::Pipe } else { terminal }) }
}

/// What a command line says of hooks.
fn settings(args: &[String]) -> Vec<String> {
    let at = args.iter().position(|arg| arg == "--settings");
    at.map_or_else(Vec::new, |at| args[at..=at + 1].to_vec())
}

/// The bash calls of a scenario, named as the sandbox names them.
#[derive(Default)]
struct Calls {
    count: u32,
    asks: bool,
}

impl Calls {
    fn named(&mut self, turns: &mut [Turn]) {
        for turn in turns {
            match turn {
                Turn::Bash(bash) => {
                    self.count += 1;
                    self.asks |= bash.asks.is_some();
                    bash.command = format!("step{}", self.count);
                }
                Turn::Task(task) => self.named(&mut task.turns),
                Turn::Together(calls) => self.named(calls),
                _ => {}
            }
        }
    }
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
    for agent in entries(&golden().join("scenarios")) {
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
