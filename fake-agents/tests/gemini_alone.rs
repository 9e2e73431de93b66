//! What `fake-gemini` makes of settings and of a stdout without a reader, alone, against recordings of Gemini CLI 0.11.3,
//! 0.29.0 and 0.61.0.
//!
//! Each file of tests/golden/gemini-VERSION/alone is what the release wrote in the sandbox, with a recipe that names the
//! folder of its settings (`GEMINI_CLI_HOME`; for 0.11.3, which knows none, `GEMINI_CLI_SYSTEM_SETTINGS_PATH`): `turns` with
//! `maxSessionTurns` 1 and `-o stream-json`, `turns-print` without, `turns-json` with `-o json`, `broken` with a file that is
//! no JSON. What is compared: the exit code, the kinds of the events, the result's error, and the lines of stderr that
//! name it. 0.11.3's commands were refused by chance, which is left out. `no-reader` is a run whose stdout goes to `head -n 1`;
//! `RC` on its stderr is the exit code.

use rehang_scenario::agents::GEMINI;
use rehang_scenario::plan::Plan;
use rehang_scenario::turns::Turn;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("rehang-settings-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join(".gemini")).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn golden(version: &str, name: &str) -> Vec<Value> {
    let file = format!("tests/golden/gemini-{version}/alone/{name}.jsonl");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).expect(&file);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn plan(version: &str) -> String {
    let mut agent = GEMINI.default_agent();
    agent.set_release(version);
    let bash =
        json!({ "bash": { "command": "step1", "does": [{ "print": "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" }] } });
    let turns: Vec<Turn> = serde_json::from_value(json!([bash, { "say": "Told: {answer}" }])).expect("turns");
    let (faults, inside) = Default::default();
    let plan = Plan { agent, turns, faults, inside, model_port: None, tools: None, stored: None };
    serde_json::to_string(&plan).expect("JSON")
}

fn ran(version: &str, name: &str, settings: &str) -> Output {
    let folder = Folder::new(&format!("{version}-{name}"));
    let file = folder.0.join(".gemini/settings.json");
    std::fs::write(&file, settings).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
    command.args(["fake-gemini", "--approval-mode", "yolo", "--skip-trust"]).env_clear();
    command.args(match name {
        "turns" | "broken" => ["-o", "stream-json"].as_slice(),
        "turns-json" => &["-o", "json"],
        _ => &[],
    });
    match version {
        "0.11.3" => command.env("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &file),
        _ => command.env("GEMINI_CLI_HOME", &folder.0),
    };
    command.args(["-p", "go"]).env("REHANG_PLAN", plan(version)).stdin(Stdio::null()).output().expect("it runs")
}

/// The kinds of events, and the error of a result.
fn events<'a>(lines: impl Iterator<Item = &'a Value>) -> Vec<(Value, Value)> {
    lines
        .map(|event| {
            (event["type"].clone(), if event["type"] == "result" { event["error"].clone() } else { Value::Null })
        })
        .collect()
}

#[test]
fn settings_have_the_ends_that_were_recorded() {
    for version in GEMINI.releases {
        for name in ["turns", "turns-print", "turns-json", "broken"] {
            let lines = golden(version, name);
            let of = |dir: &'static str| lines.iter().filter(move |line| line["dir"] == dir).map(|line| &line["msg"]);
            let settings = if name == "broken" { "{\"oops\"" } else { r#"{"model":{"maxSessionTurns":1}}"# };
            let output = ran(version, name, settings);
            let exit = of("EXIT").next().and_then(Value::as_i64).expect("it ended");
            assert_eq!(output.status.code().map(i64::from), Some(exit), "{version} {name}: {output:?}");
            let out: Vec<Value> = String::from_utf8_lossy(&output.stdout)
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect();
            assert_eq!(events(out.iter()), events(of("OUT")), "{version} {name}");
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            let said: Vec<&str> =
                of("ERR").filter_map(Value::as_str).filter(|line| !line.starts_with("[ERROR]")).collect();
            let is_of_the_end = |line: &&str| {
                line.contains("Reached max session turns")
                    || line.contains("Please fix the config")
                    || line.contains("\"code\": ")
            };
            let wanted: Vec<&str> = said
                .into_iter()
                .filter(is_of_the_end)
                .map(|line| line.split("[ERROR]").next().unwrap_or(line))
                .collect();
            assert!(wanted.iter().all(|line| err.contains(line)), "{version} {name}: {wanted:?} in {err}");
            assert_eq!(wanted.is_empty(), name == "turns", "{version} {name}: {wanted:?}");
        }
        // as many turns as it takes
        let output = ran(version, "turns-enough", r#"{"model":{"maxSessionTurns":2}}"#);
        assert_eq!(output.status.code(), Some(0), "{version}: {output:?}");
    }
}

/// A list is printed in place of a run. `list-sessions` of 0.11.3, which has none, is refused; its help after that is its own.
#[test]
fn a_list_is_what_was_recorded() {
    for version in GEMINI.releases {
        for name in ["list-extensions", "list-sessions"] {
            let lines = golden(version, name);
            let of = |dir: &str| -> Vec<&str> {
                let said = lines.iter().filter(|line| line["dir"] == dir).filter_map(|line| line["msg"].as_str());
                said.take_while(|line| !line.starts_with("Usage: ")).collect()
            };
            let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
            command.args(["fake-gemini", "--as", version, "--approval-mode", "yolo", &format!("--{name}")]).env_clear();
            let output = command.stdin(Stdio::null()).output().expect("it runs");
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!((out.lines().collect(), err.lines().collect()), (of("OUT"), of("ERR")), "{version} {name}");
            let exit = lines.iter().find(|line| line["dir"] == "EXIT").and_then(|line| line["msg"].as_i64());
            assert_eq!(output.status.code().map(i64::from), exit, "{version} {name}");
        }
    }
}

/// A stdout that nobody reads any more ends the run with 0, though its command would never end.
#[test]
fn a_stdout_without_a_reader_ends_it() {
    for version in GEMINI.releases {
        let said = golden(version, "no-reader");
        let code = said.iter().find_map(|line| line["msg"].as_str()?.strip_prefix("RC ")?.parse::<i32>().ok());
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
        command.args(["fake-gemini", "-o", "stream-json", "--approval-mode", "yolo", "-p", "go"]).env_clear();
        let plan = plan(version).replace(r#"{"print":"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}"#, r#""hold""#);
        assert!(plan.contains("hold"), "{plan}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status =
            command.env("REHANG_PLAN", plan).stdin(Stdio::null()).stdout(writer).stderr(Stdio::null()).status();
        assert_eq!(status.expect("it runs").code(), code, "{version}");
        assert!(code.is_some(), "{version}: it is recorded");
    }
}

/// A person's own settings are not read.
#[test]
fn a_home_without_a_name_is_left_alone() {
    let folder = Folder::new("home");
    std::fs::write(folder.0.join(".gemini/settings.json"), "{\"oops\"").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
    command.args(["fake-gemini", "-p", "go"]).env_clear().env("HOME", &folder.0);
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
