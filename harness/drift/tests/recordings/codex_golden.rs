//! `fake-codex` against recordings of Codex 0.45.0, 0.58.0, 0.116.0 and 0.169.0.
//!
//! Each file of tests/golden/codex-VERSION is what `codex exec` wrote while a scripted model played a scenario of
//! scenarios/upstream: `json-…` with `--json`, `plain-…` without it, stdout and stderr apart. `…-retried`, `…-silent` and
//! `…-keep-alive` ran with the release's own number of tries, the others with none.

use crate::golden::{files, stem};
use rehang_drift::Compared;
use rehang_drift::session::Setup;
use rehang_drift::streams::{Ends, Line, compare};
use rehang_scenario::{Scenario, Terminal, agents::CODEX, load, turns::Turn};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The scenario that a recording is of.
const SCENARIOS: [(&str, &str); 15] = [
    ("text", "text"),
    ("bash", "bash-permission"),
    ("escalated", "bash-permission"),
    ("stdin-open", "stdin-open"),
    ("bash-limit", "bash-never-ends"),
    ("bash-ignores-term", "bash-ignores-term"),
    ("bash-held", "bash-background-pipe"),
    ("bash-stdin", "bash-reads-stdin"),
    ("question", "question"),
    ("cut", "stream-cut"),
    ("unfinished", "stream-without-finish"),
    ("500", "model-500"),
    ("429", "model-429"),
    ("silent", "stream-stalled"),
    ("keep-alive", "stream-keepalive-only"),
];

#[test]
fn every_recorded_run_is_played_the_same() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for version in CODEX.releases {
        for file in recordings(version) {
            played += 1;
            let differences = played_as(version, &file, |_| {}).differences;
            wrong.extend(differences.iter().map(|one| format!("{version} {}: {one}", stem(&file))));
        }
    }
    assert!(wrong.is_empty(), "{} of {played}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(played, 96, "recordings were added or lost");
}

#[test]
fn a_changed_recording_is_noticed() {
    for (name, from, to) in [
        ("json-bash", "Process exited with code 0", "Process exited with code 1"),
        ("json-bash", "\"aggregated_output\":", "\"output\":"),
        ("json-text", "item.completed", "item.updated"),
        ("json-500-retried", "Reconnecting... 3/5", "Reconnecting... 3/6"),
        ("plain-text", "tokens used", "tokens"),
        ("plain-text", "approval: never", "approval: on-request"),
    ] {
        let files = recordings("0.169.0");
        let file = files.iter().find(|file| stem(file) == name).expect("it is there");
        let change = |message: &mut Value| {
            *message = serde_json::from_str(&message.to_string().replace(from, to)).expect("it stays JSON");
        };
        assert!(!played_as("0.169.0", file, change).differences.is_empty(), "not noticed: {from}");
    }
}

/// The four releases differ in what hangs them.
#[test]
fn what_a_release_hangs_on_is_recorded() {
    let hung = |name: &str| -> Vec<&str> {
        let hangs = |version: &&&str| {
            let file = recordings(version).into_iter().find(|file| stem(file) == name).expect("it is there");
            matches!(ends(name, &lines(&file)), Ends::Hangs(_))
        };
        CODEX.releases.iter().filter(hangs).copied().collect()
    };
    assert_eq!((hung("json-bash-held"), hung("json-stdin-open")), (vec!["0.45.0"], vec!["0.169.0"]));
}

fn recordings(version: &str) -> Vec<PathBuf> {
    files(&format!("codex-{version}"))
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("a recording");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn played_as(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Compared {
    let name = stem(file);
    let mut lines = lines(file);
    let ends = ends(&name, &lines);
    lines.iter_mut().for_each(|line| change(&mut line["msg"]));
    let of = |dir: &'static str| lines.iter().filter(move |line| line["dir"] == dir).map(|line| line["msg"].clone());
    let out: Vec<Line> = of("OUT").map(|message| Line { sent: false, message }).collect();
    // With `--json`, 0.169.0 alone says on stderr that it reads stdin.
    let err: Vec<Value> = of("ERR").collect();
    compare(setup(version, &name), &out, Some(&err), &ends)
}

fn setup(version: &str, name: &str) -> Setup {
    let (form, what) = name.split_once('-').expect("a form");
    let own_tries = what.ends_with("-retried") || matches!(what, "silent" | "keep-alive");
    let what = what.trim_end_matches("-retried");
    let file = SCENARIOS.iter().find(|(known, _)| *known == what).map_or_else(|| panic!("{what}"), |(_, file)| *file);
    let scenario = scenario(file);
    let mut args = vec!["exec", "--skip-git-repo-check"];
    if form == "json" {
        args.push("--json");
    }
    args.extend(match what {
        "bash" | "escalated" => ["--sandbox", "read-only"].as_slice(),
        _ => &["--dangerously-bypass-approvals-and-sandbox"],
    });
    if !own_tries {
        args.extend(["-c", "model_providers.fake.request_max_retries=0"]);
        args.extend(["-c", "model_providers.fake.stream_max_retries=0"]);
    }
    args.push("go");
    let mut agent = CODEX.default_agent();
    agent.set_release(version);
    let mut turns = scenario.turns;
    for turn in &mut turns {
        if let Turn::Bash(bash) = turn {
            // The name that a command has in the sandbox.
            "step1".clone_into(&mut bash.command);
            if what == "escalated" {
                bash.asks = Some("escalated".to_owned());
            }
        }
    }
    let terminal = if what == "stdin-open" { Terminal::Pipe } else { Terminal::Null };
    let args = args.into_iter().map(str::to_owned).collect();
    Setup { args, faults: scenario.faults, ..Setup::of(agent, turns, terminal) }
}

fn scenario(name: &str) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/upstream/{name}.toml"));
    let text = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let family = load(name, &text).into_result().expect("a scenario");
    family.variants.first().expect("a variant").scenario.clone()
}

/// How a recorded run ended: with the turn, or not at all.
fn ends(name: &str, lines: &[Value]) -> Ends {
    let said =
        |dir: &str, test: &dyn Fn(&Value) -> bool| lines.iter().any(|line| line["dir"] == dir && test(&line["msg"]));
    let completed = said("OUT", &|line| line["type"] == "turn.completed") || said("ERR", &|line| line == "tokens used");
    let failed = said("OUT", &|line| line["type"] == "turn.failed")
        || (name.starts_with("plain-")
            && said("ERR", &|line| {
                line.as_str().is_some_and(|line| line.starts_with("ERROR: ") && !line.contains("Reconn"))
            }));
    match (completed, failed) {
        (true, _) => Ends::Exit(0),
        (_, true) => Ends::Exit(1),
        _ => Ends::Hangs(if name.contains("stdin") { "stdin" } else { "pipe" }.to_owned()),
    }
}
