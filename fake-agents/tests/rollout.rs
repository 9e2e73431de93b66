//! The rollout files of `fake-codex` against those of Codex 0.45.0, 0.58.0, 0.116.0 and 0.169.0.
//!
//! Each file of tests/golden/codex-VERSION/rollout is what the release had in `$CODEX_HOME/sessions` after it had run in
//! the sandbox (a recipe whose program is a shell that runs the release and then prints the file): `text`, `bash`
//! (`bash-permission`) and `fails` (`model-500`) of scenarios/upstream after their ends, `in-tool` and `interrupted`
//! (`bash-never-ends`) while its command runs and after a SIGINT, `killed` after a SIGKILL and a
//! second run with `resume ID`, `resume` after two runs, `elsewhere` after one with `resume --last` in another folder. Instants and
//! ids are masked, and texts of more than 300 characters are `…`: the vendor's instructions.

use rehang_logs::{Format, Options, Verdict, import};
use rehang_scenario::agents::CODEX;
use rehang_scenario::plan::Plan;
use rehang_scenario::turns::{Finish, Step, Turn};
use rehang_scenario::{Agent, Fault, Span, load};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Lines that the fake does not write, by what [`kind`] says of them, and why.
const LINES_LEFT_OUT: &[(&str, &str)] = &[
    ("response_item/message/developer", "instructions of the vendor's"),
    ("world_state", "instructions of the vendor's, and what is known of the folder"),
    ("event_msg/thread_settings_applied", "settings that cannot change here"),
];
/// Keys that the fake does not write: the line's kind, the keys, and why.
const KEYS_LEFT_OUT: &[(&str, &[&str], &str)] = &[
    ("session_meta", &["base_instructions"], "instructions of the vendor's"),
    ("session_meta", &["account_scoped", "runtime_workspace_roots", "context_window"], "nothing here depends on it"),
    ("event_msg/task_started", &["turn_attribution"], "who began a turn: nothing else begins one here"),
    ("event_msg/task_complete", &["time_to_first_token_ms", "codex_error_info"], "no time and no class is played"),
    ("event_msg/turn_aborted", &["root_turn_id", "started_at", "completed_at", "duration_ms"], "as above"),
    ("event_msg/item_completed", &["started_at_ms", "completed_at_ms", "id"], "as above"),
    (
        "event_msg/item_completed",
        &["process_id", "cwd", "parsed_cmd", "source", "duration"],
        "how a command ran: nothing here depends on it",
    ),
    (
        "event_msg/token_count",
        &[
            "limit_id",
            "limit_name",
            "credits",
            "plan_type",
            "individual_limit",
            "spend_control_reached",
            "rate_limit_reached_type",
            "last_usage_includes_reasoning",
        ],
        "an account's limits: there is none",
    ),
    ("token_usage_record", &["response_id", "turn_token_usage"], "the same numbers again"),
    (
        "response_item",
        &["id", "metadata", "internal_chat_message_metadata_passthrough"],
        "where each part of a request comes from",
    ),
    (
        "turn_context",
        &[
            "current_date",
            "timezone",
            "personality",
            "collaboration_mode",
            "realtime_active",
            "truncation_policy",
            "root_turn_id",
            "disabled_plugin_ids",
            "approvals_reviewer",
            "permission_profile",
            "multi_agent_version",
        ],
        "settings that cannot change here",
    ),
];
/// Keys whose values are ids or instants.
const NAMES: &[&str] = &[
    "timestamp",
    "ordinal",
    "id",
    "session_id",
    "thread_id",
    "turn_id",
    "root_turn_id",
    "call_id",
    "cwd",
    "started_at",
    "completed_at",
    "duration_ms",
];

/// How far a run is played.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// It ends.
    End,
    /// Its command runs, and it is killed.
    Command,
    /// Its command runs, and it is interrupted.
    Interrupt,
}

struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        static NTH: AtomicU32 = AtomicU32::new(0);
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rehang-rollout-{}-{nth}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Home(path)
    }

    /// The files of its sessions.
    fn files(&self) -> Vec<PathBuf> {
        let mut all = vec![self.0.join("sessions")];
        for _ in 0..4 {
            let entries = |at: &PathBuf| std::fs::read_dir(at).into_iter().flatten().flatten().map(|it| it.path());
            all = all.iter().flat_map(entries).collect();
        }
        all.sort();
        all
    }

    /// What is in them, in order.
    fn text(&self) -> String {
        self.files().iter().map(|file| std::fs::read_to_string(file).expect("a text")).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn golden(version: &str, name: &str) -> String {
    let file = format!("tests/golden/codex-{version}/rollout/{name}.jsonl");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn plan(version: &str, turns: Vec<Turn>, faults: Vec<Fault>) -> Plan {
    let mut agent: Agent = CODEX.default_agent();
    agent.set_release(version);
    Plan { agent, turns, faults, inside: Vec::new(), model_port: None, tools: None, stored: None }
}

/// The plan of a scenario of scenarios/upstream; its command has the name that it has in the sandbox.
fn of_scenario(version: &str, name: &str) -> Plan {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../scenarios/upstream/{name}.toml"));
    let text = std::fs::read(&file).expect("a scenario");
    let family = load(name, &text).into_result().expect("a scenario");
    let mut scenario = family.variants.first().expect("a variant").scenario.clone();
    for turn in &mut scenario.turns {
        if let Turn::Bash(bash) = turn {
            "step1".clone_into(&mut bash.command);
        }
    }
    plan(version, scenario.turns, scenario.faults)
}

/// The same, but its command ends by itself after 9 s, before `exec_command` reports that it runs on: an agent that is killed
/// leaves it behind.
fn ends_by_itself(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for turn in &mut plan.turns {
        if let Turn::Bash(bash) = turn {
            bash.does = vec![Step::Sleep(Span::secs(9))];
        }
    }
    plan
}

fn started(home: Option<&Home>, plan: &Plan, args: &[&str], until: Until) -> Child {
    let plan = if until == Until::End { plan.clone() } else { ends_by_itself(plan) };
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
    command.args(["fake-codex", "exec", "--json"]).args(args).env_clear().current_dir(std::env::temp_dir());
    // a command that never ends meets its limit at once; any other must not meet it on a slow machine
    let never_ends = plan.turns.iter().any(|turn| matches!(turn, Turn::Bash(bash) if bash.timeout.is_some()));
    let speed = if never_ends && until == Until::End { "50" } else { "1" };
    command.env("REHANG_PLAN", serde_json::to_string(&plan).expect("JSON")).env("REHANG_SPEED", speed);
    command.env("CODEX_HOME", home.map_or_else(String::new, |home| home.0.to_string_lossy().into_owned()));
    if home.is_none() {
        command.env_remove("CODEX_HOME");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Runs it; returns the events that it printed.
fn ran(home: Option<&Home>, plan: &Plan, args: &[&str], until: Until) -> Vec<Value> {
    let mut child = started(home, plan, args, until);
    let mut events = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).expect("an event");
        let begins = event["type"] == "item.started";
        events.push(event);
        match until {
            Until::Command if begins => child.kill().expect("it is there"),
            // SAFETY: it is our child, and not reaped yet.
            Until::Interrupt if begins => assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) }, 0),
            _ => {}
        }
    }
    child.wait().expect("it ends");
    events
}

/// What a line is.
fn kind(line: &Value) -> String {
    let payload = &line["payload"];
    let parts = [&line["type"], &payload["type"], &payload["role"], &payload["item"]["type"]];
    parts.iter().filter_map(|part| part.as_str()).collect::<Vec<_>>().join("/")
}

/// A text without what differs in every run.
fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    if let (Some(from), Some(to)) = (text.find("<cwd>"), text.find("</cwd>")) {
        text.replace_range(from..to, "");
    }
    for before in [
        "Wall time: ",
        "aborted by user after ",
        "timed out after ",
        "duration_seconds\":",
        "duration_seconds\\\":",
        "<current_date>",
        "\"timeout_ms\":",
    ] {
        let mut rest = std::mem::take(&mut text);
        while let Some(at) = rest.find(before) {
            let (head, tail) = rest.split_at(at + before.len());
            text.push_str(head);
            text.push('0');
            rest = tail.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-').to_owned();
        }
        text.push_str(&rest);
    }
    text
}

/// Where the fake's value differs from the recorded one.
fn differences(kind: &str, at: &str, fake: &Value, recorded: &Value, found: &mut Vec<String>) {
    let left_out = |key: &str| KEYS_LEFT_OUT.iter().any(|(of, keys, _)| kind.starts_with(of) && keys.contains(&key));
    match (fake, recorded) {
        (_, Value::String(cut)) if cut == "…" => {}
        (Value::Object(fake), Value::Object(recorded)) => {
            found.extend(
                fake.keys()
                    .filter(|key| !recorded.contains_key(*key))
                    .map(|key| format!("{kind}: {at}.{key} is not recorded")),
            );
            for (key, value) in recorded {
                match fake.get(key) {
                    None if left_out(key) => {}
                    None => found.push(format!("{kind}: no {at}.{key}")),
                    Some(_) if NAMES.contains(&key.as_str()) => {}
                    Some(own) => differences(kind, &format!("{at}.{key}"), own, value, found),
                }
            }
        }
        (Value::Array(own), Value::Array(others)) if own.len() == others.len() => {
            own.iter().zip(others).for_each(|(own, other)| differences(kind, at, own, other, found));
        }
        (Value::String(own), Value::String(other)) if masked(own) == masked(other) => {}
        (own, other) if own == other => {}
        (own, other) => found.push(format!("{kind}: {at} is {own}, recorded {other}")),
    }
}

/// How a rollout of the fake's differs from a recorded one.
fn compared(fake: &str, recorded: &str) -> Vec<String> {
    let (fake, mut recorded) = (lines(fake), lines(recorded));
    recorded.retain(|line| !LINES_LEFT_OUT.iter().any(|(of, _)| kind(line).starts_with(of)));
    let kinds = |all: &[Value]| all.iter().map(kind).collect::<Vec<_>>();
    if kinds(&fake) != kinds(&recorded) {
        return vec![format!("lines:\n  fake     {:?}\n  recorded {:?}", kinds(&fake), kinds(&recorded))];
    }
    let mut found = Vec::new();
    fake.iter().zip(&recorded).for_each(|(own, other)| differences(&kind(own), "", own, other, &mut found));
    found
}

const ALLOWED: &str = "--dangerously-bypass-approvals-and-sandbox";

fn two_responses() -> Vec<Turn> {
    let [one, two] = ["All is well.", "Still well."].map(|text| Turn::Say(text.into()));
    vec![one, Turn::Finish(Finish::Stop), two]
}

/// A recording, as far as the fake plays it: the item of 0.169.0's command that was interrupted comes once its process is
/// gone, after the turn.
fn recorded(version: &str, name: &str) -> String {
    let text = golden(version, name);
    match (version, name) {
        ("0.169.0", "interrupted") => {
            let all: Vec<&str> = text.lines().collect();
            all[..all.len() - 1].iter().map(|line| format!("{line}\n")).collect()
        }
        _ => text,
    }
}

/// The fake's rollout of a recorded run.
fn played(version: &str, name: &str) -> String {
    let home = Home::new(&format!("{version}-{name}"));
    let once = |plan: Plan, args: &[&str], until| drop(ran(Some(&home), &plan, args, until));
    match name {
        "text" => once(of_scenario(version, "text"), &[ALLOWED, "go"], Until::End),
        "bash" => once(of_scenario(version, "bash-permission"), &["--sandbox", "read-only", "go"], Until::End),
        "fails" => {
            // the refusal is a model's, which plays in the script of the stages
            let none =
                ["-c", "model_providers.fake.request_max_retries=0", "-c", "model_providers.fake.stream_max_retries=0"];
            once(of_scenario(version, "model-500"), &[&none[..], &[ALLOWED, "go"]].concat(), Until::End);
        }
        "in-tool" if ["0.45.0", "0.58.0"].contains(&version) => {
            once(of_scenario(version, "bash-never-ends"), &[ALLOWED, "go"], Until::End)
        }
        "in-tool" => once(of_scenario(version, "bash-never-ends"), &[ALLOWED, "go"], Until::Command),
        "interrupted" => once(of_scenario(version, "bash-never-ends"), &[ALLOWED, "go"], Until::Interrupt),
        "killed" => {
            let plan = || of_scenario(version, "bash-never-ends");
            let events = ran(Some(&home), &plan(), &[ALLOWED, "one"], Until::Command);
            let id = events[0]["thread_id"].as_str().expect("its id").to_owned();
            once(plan(), &[ALLOWED, "resume", &id, "two"], Until::End);
        }
        "resume" => {
            let events = ran(Some(&home), &plan(version, two_responses(), Vec::new()), &[ALLOWED, "one"], Until::End);
            let id = events[0]["thread_id"].as_str().expect("its id").to_owned();
            let again = ran(
                Some(&home),
                &plan(version, two_responses(), Vec::new()),
                &[ALLOWED, "resume", &id, "two"],
                Until::End,
            );
            assert_eq!(again[0]["thread_id"], id, "{version}: the same session");
        }
        "elsewhere" => {
            once(plan(version, two_responses(), Vec::new()), &[ALLOWED, "one"], Until::End);
            let mut child = Command::new("sh");
            let again = format!("printf two | exec \"$0\" fake-codex exec --json {ALLOWED} resume --last");
            child.args(["-c", &again, env!("CARGO_BIN_EXE_rehang-fakes")]).env_clear().current_dir(&home.0);
            child.env("REHANG_PLAN", serde_json::to_string(&plan(version, two_responses(), Vec::new())).expect("JSON"));
            assert!(child.env("CODEX_HOME", &home.0).output().expect("it runs").status.success());
        }
        other => panic!("{other}"),
    }
    home.text()
}

const ALL: [&str; 8] = ["text", "bash", "fails", "in-tool", "interrupted", "killed", "resume", "elsewhere"];

#[test]
fn a_rollout_is_the_one_that_was_recorded() {
    let mut wrong = Vec::new();
    for version in CODEX.releases {
        for name in ALL {
            let found = compared(&played(version, name), &recorded(version, name));
            wrong.extend(found.iter().map(|one| format!("{version} {name}: {one}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is told apart, and that each line and key that is left out is in some recording.
#[test]
fn what_is_changed_is_noticed_and_what_is_left_out_is_recorded() {
    let fake = played("0.116.0", "bash");
    for (from, to) in [
        ("task_complete", "turn_complete"),
        ("\"approval_policy\":\"never\"", "\"approval_policy\":\"always\""),
        ("exited with code 0", "exited with code 1"),
        ("\"input_tokens\":20", "\"input_tokens\":30"),
        ("\"originator\":", "\"origin\":"),
    ] {
        assert!(golden("0.116.0", "bash").contains(from), "{from}");
        assert!(!compared(&fake, &golden("0.116.0", "bash").replace(from, to)).is_empty(), "not noticed: {from}");
    }
    let all: Vec<Value> =
        CODEX.releases.iter().flat_map(|of| ALL.map(|name| golden(of, name))).flat_map(|text| lines(&text)).collect();
    for (of, why) in LINES_LEFT_OUT {
        assert!(all.iter().any(|line| kind(line).starts_with(of)), "{of} ({why}) is in no recording");
    }
    for (of, keys, why) in KEYS_LEFT_OUT {
        for key in *keys {
            let has = |line: &Value| kind(line).starts_with(of) && line.to_string().contains(&format!("\"{key}\":"));
            assert!(all.iter().any(has), "{of}: {key} ({why}) is in no recording");
        }
    }
}

/// A real rollout and the fake's are the same log to `import`.
#[test]
fn both_are_imported_alike() {
    for version in CODEX.releases {
        for name in ALL {
            let read = |text: &str| {
                let options = Options { format: Some(Format::Codex), ..Options::default() };
                let mut all = lines(text);
                all.iter_mut().for_each(|line| line["timestamp"] = "2023-11-14T00:00:00.000Z".into());
                let text: String = all.iter().map(|line| format!("{line}\n")).collect();
                let imported = import(text.as_bytes(), &options, &mut |_| {}).expect("a rollout");
                let scenario = &imported.draft.scenario;
                let drafted = masked(&format!("{:?} {:?}", scenario.agent, scenario.turns));
                (imported.guess.verdict, imported.guess.named().map(str::to_owned), drafted)
            };
            let own = read(&played(version, name));
            assert_eq!(own, read(&recorded(version, name)), "{version} {name}");
            let ends = match (*version, name) {
                // neither keeps that its turn has failed, and 0.58.0 not that it was interrupted
                ("0.45.0" | "0.58.0", "fails") | ("0.58.0", "interrupted") => Verdict::EndedOpen,
                // 0.116.0 keeps its end, and not that it has failed
                ("0.116.0", "fails") => Verdict::Completed,
                (_, "fails") => Verdict::Failed,
                ("0.116.0" | "0.169.0", "in-tool") => Verdict::EndedOpen,
                (_, "interrupted") => Verdict::Failed,
                _ => Verdict::Completed,
            };
            assert_eq!(own.0, ends, "{version} {name}");
        }
    }
}

/// 0.169.0 refuses a session that is not there; the others begin one (recorded: `scenario/resume-unknown`).
#[test]
fn a_session_that_is_not_there_is_another_one_or_none() {
    for version in CODEX.releases {
        let home = Home::new(&format!("{version}-unknown"));
        let hello = plan(version, vec![Turn::Say("All is well.".into())], Vec::new());
        ran(Some(&home), &hello, &["one"], Until::End);
        let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
        let unknown = ran(Some(&home), &hello, &["resume", id, "go"], Until::End);
        let begun = if *version == "0.169.0" { 1 } else { 2 };
        assert_eq!((unknown.is_empty(), home.files().len()), (begun == 1, begun), "{version}");
    }
}

#[test]
fn without_codex_home_nothing_is_kept() {
    let hello = plan("0.169.0", vec![Turn::Say("All is well.".into())], Vec::new());
    let events = ran(None, &hello, &["one"], Until::End);
    assert_eq!(events[0]["thread_id"], "00000000-0000-7000-8000-000000000001");
}
