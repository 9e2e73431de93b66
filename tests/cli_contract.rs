//! The command as its users see it: exit codes, the errors of bad files, the JSON contract, and a fake whose
//! announcement is false.
//!
//! Invariant: an internal error is never a verdict, and a verdict that was not expected is never a success.

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

/// If this is set, this binary is `rehang`. A test has no other way to a binary of another package.
const COMMAND_ENV: &str = "REHANG_TEST_COMMAND";

fn main() -> ExitCode {
    if std::env::var_os(COMMAND_ENV).is_some() {
        return rehang::app::main();
    }
    type Test = fn() -> Result<(), Failed>;
    let trials: [(&str, Test); 7] = [
        ("what_is_expected_is_a_success", as_expected),
        ("what_is_not_expected_is_1", not_as_expected),
        ("a_hang_that_nobody_expected_is_3", unexpected_hang),
        ("a_lie_is_rehangs_own_fault_70", lie),
        ("the_highest_code_stands", highest),
        ("json_keeps_its_contract", json),
        ("bad_files_are_2_with_a_place", bad_files),
    ];
    let trials = trials.into_iter().map(|(name, test)| Trial::test(name, test)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A program that prints and ends.
const HEALTHY: &str = r#"
title = "Prints and ends"
mechanism = "F1"
agent = { program = [{ print = "hello" }] }
terminals = ["null"]

[[expect]]
outcome = "completed"
"#;

/// A program that prints one word and never ends.
const HANGS: &str = r#"
title = "Says a word and holds"
mechanism = "B1"
agent = { program = [{ print = "hello" }, "hold"] }
terminals = ["null"]

[control]
agent = { program = [{ print = "hello" }] }

[[expect]]
strategies = ["none"]
outcome = { hung = "nothing" }
proof = "deadlock"

[[expect]]
strategies = ["wall", "idle@grace", "idle@off"]
outcome = { stopped = "wall" }

[[expect]]
strategies = ["guard"]
outcome = { stopped = "never-ends" }

[[expect]]
outcome = { stopped = "idle" }
"#;

fn as_expected() -> Result<(), Failed> {
    for stage in ["sim", "lockstep", "both"] {
        let out = files(&[("healthy.toml", HEALTHY)])?.run(&["--stage", stage, "--strategy", "none"])?;
        is(&out, 0)?;
    }
    Ok(())
}

fn not_as_expected() -> Result<(), Failed> {
    let wrong = HEALTHY.replace("outcome = \"completed\"", "outcome = \"failed\"");
    let out = files(&[("wrong.toml", &wrong)])?.run(&["--strategy", "none"])?;
    is(&out, 1)?;
    says(&out.stdout, "FAIL wrong::none::null::1")?;
    says(&out.stdout, "--stage lockstep wrong::none::null::1")
}

fn unexpected_hang() -> Result<(), Failed> {
    let wrong = HEALTHY.replace("{ print = \"hello\" }", "{ print = \"hello\" }, \"hold\"");
    for stage in ["sim", "lockstep"] {
        is(&files(&[("hangs.toml", &wrong)])?.run(&["--stage", stage, "--strategy", "none"])?, 3)?;
    }
    Ok(())
}

fn lie() -> Result<(), Failed> {
    let lies = format!("{HEALTHY}\n").replace("terminals", "env = { REHANG_FAKE_LIES = \"1\" }\nterminals");
    let files = files(&[("lies.toml", &lies)])?;
    let out = files.run(&["--stage", "lockstep", "--strategy", "none"])?;
    is(&out, 70)?;
    says(&out.stdout, "internal error: agent announced 7 bytes written, but 6 bytes came out")?;
    // on sim the fake announces nothing: the same file is fine there
    is(&files.run(&["--stage", "sim", "--strategy", "none"])?, 0)
}

fn highest() -> Result<(), Failed> {
    let wrong = HEALTHY.replace("outcome = \"completed\"", "outcome = \"failed\"");
    let hangs = HEALTHY.replace("{ print = \"hello\" }", "\"hold\"");
    let lies = HEALTHY.replace("terminals", "env = { REHANG_FAKE_LIES = \"1\" }\nterminals");
    let all = [("wrong.toml", wrong.as_str()), ("bad.toml", "title = 1"), ("hangs.toml", &hangs), ("lies.toml", &lies)];
    for (count, code) in [(1, 1), (2, 2), (3, 3), (4, 70)] {
        is(&files(&all[..count])?.run(&["--strategy", "none"])?, code)?;
    }
    Ok(())
}

fn json() -> Result<(), Failed> {
    let files = files(&[("hangs.toml", HANGS), ("healthy.toml", HEALTHY)])?;
    for stage in ["sim", "lockstep"] {
        let out = files.run(&["--stage", stage, "--format", "json"])?;
        is(&out, 0)?;
        let text = String::from_utf8(out.stdout)?;
        let mut objects = Vec::new();
        for line in text.lines() {
            objects.push(serde_json::from_str::<Value>(line)?);
        }
        let summary = objects.pop().ok_or("nothing came out")?;
        let fields = [
            "scenario",
            "strategy",
            "terminal",
            "stage",
            "seed",
            "outcome",
            "cause",
            "blocked_on",
            "proof",
            "policy",
            "rejected",
            "virtual_ms",
            "waited_ms",
            "wall_us",
            "trace_sha256",
            "broken",
            "expected",
            "mechanism",
            "title",
            "why",
            "unexpected_hang",
            "differs",
            "share",
            "alike",
        ];
        for object in &objects {
            let names: Vec<&str> = object.as_object().ok_or("no object")?.keys().map(String::as_str).collect();
            same(&names, &fields.to_vec())?;
            same(&object["expected"], &Value::from(true))?;
            same(&object["stage"], &Value::from(stage))?;
            same(&object["trace_sha256"].as_str().map(str::len), &Some(64))?;
        }
        let names = |object: &Value| object.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>());
        same(&names(&summary), &Some(vec!["summary".to_owned()]))?;
        same(&summary["summary"]["cells"], &Value::from(objects.len()))?;
        same(&summary["summary"]["expected"], &Value::from(objects.len()))?;
        same(&summary["summary"]["scenarios"], &Value::from(2))?;
        let none = |object: &&Value| object["strategy"] == "none" && object["scenario"] == "hangs";
        let none = objects.iter().find(none).ok_or("no cell of `none`")?;
        same(&none["outcome"], &Value::from("hung"))?;
        same(&none["proof"], &Value::from("deadlock"))?;
    }
    Ok(())
}

fn bad_files() -> Result<(), Failed> {
    let whole = HANGS.as_bytes();
    let with = |line: &str| HANGS.replace("terminals", &format!("{line}\nterminals")).into_bytes();
    let mut latin = with("about = \"caf?\"");
    let at = latin.iter().position(|&b| b == b'?').ok_or("no such byte")?;
    latin[at] = 0xe9;
    let deep = format!("cites = {}{}", "[".repeat(5_000), "]".repeat(5_000));
    let long = format!("about = '''{}'''", "x".repeat(2 << 20));
    // a name, the bytes, the line of the error (none: it is not at one line), what is said
    let bad: Vec<(&str, Vec<u8>, Option<usize>, &str)> = vec![
        ("truncated", whole[..whole.len() / 2].to_vec(), None, ""),
        ("large", with(&long), None, "1 MiB"),
        ("unknown", with("terminal = [\"null\"]"), Some(5), "terminal"),
        ("deep", with(&deep), Some(5), ""),
        ("latin", latin, Some(5), "UTF-8"),
        ("control", with("about = \"a\u{1}b\""), Some(5), ""),
        ("years", with("faults = [{ wrapper = { vanishes = \"9e99y\" } }]"), Some(5), "9e99y"),
    ];
    let named: Vec<(String, &[u8])> =
        bad.iter().map(|(name, bytes, ..)| (format!("{name}.toml"), &bytes[..])).collect();
    let files = Files::new(&named)?;
    for (name, _, line, word) in &bad {
        let path = files.path(&format!("{name}.toml"));
        let out = rehang(&["check", &path.display().to_string()])?;
        is(&out, 2).map_err(|e| format!("{name}: {}", e.message().unwrap_or_default()))?;
        let place = line.map_or_else(|| format!("{name}.toml:"), |line| format!("{name}.toml:{line}:"));
        says(&out.stdout, &place)?;
        says(&out.stdout, word)?;
        says(&out.stdout, "error")?;
        if out.stdout.iter().any(|&b| b < b' ' && b != b'\n') {
            return Err(format!("{name}: a control character reaches the terminal").into());
        }
    }
    // one bad file hides no other
    let folder = files.folder().display().to_string();
    let out = rehang(&["check", &folder])?;
    is(&out, 2)?;
    for (name, ..) in &bad {
        says(&out.stdout, &format!("{name}.toml"))?;
    }
    says(&out.stdout, "7 files: 0 right (0 scenarios), 7 with errors")?;
    is(&rehang(&["check", &files.path("absent.toml").display().to_string()])?, 2)?;
    is(&rehang(&["run", "no such cell"])?, 2)?;
    is(&rehang(&["walk"])?, 2)
}

/// Scenario files in a folder that goes away.
struct Files(tempfile::TempDir);

fn files(files: &[(&str, &str)]) -> Result<Files, Failed> {
    let files: Vec<(String, &[u8])> = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes())).collect();
    Files::new(&files)
}

impl Files {
    fn new(files: &[(String, &[u8])]) -> Result<Files, Failed> {
        let files_of = Files(tempfile::tempdir()?);
        std::fs::create_dir(files_of.folder())?;
        for (name, bytes) in files {
            std::fs::write(files_of.path(name), bytes)?;
        }
        Ok(files_of)
    }

    /// Names of cells begin after a folder of this name.
    fn folder(&self) -> PathBuf {
        self.0.path().join("scenarios")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// `rehang run` of these files.
    fn run(&self, args: &[&str]) -> Result<Output, Failed> {
        let folder = self.folder().display().to_string();
        rehang(&[&["run", "--scenarios", &folder, "--jobs", "1"], args].concat())
    }
}

fn rehang(args: &[&str]) -> Result<Output, Failed> {
    let fakes = Path::new(env!("CARGO_BIN_EXE_rehang-test-fakes"));
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).env(COMMAND_ENV, "1").env("REHANG_FAKES", fakes).env("NO_COLOR", "1").stdin(Stdio::null());
    Ok(command.output()?)
}

fn is(out: &Output, code: i32) -> Result<(), Failed> {
    if out.status.code() == Some(code) {
        return Ok(());
    }
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Err(format!("{} instead of {code}\n{stdout}\n{stderr}", out.status).into())
}

fn says(out: &[u8], text: &str) -> Result<(), Failed> {
    let out = String::from_utf8_lossy(out);
    if out.contains(text) { Ok(()) } else { Err(format!("{text:?} is not said in:\n{out}").into()) }
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(format!("{found:?} instead of {wanted:?}").into()) }
}
