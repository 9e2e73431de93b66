//! `rehang run --accept` and `--review` from the outside: the rules of a shipped file, written for what was seen.
//!
//! Invariant: a test that waits for a terminal asserts order; its limit only ends a test that would wait for ever.

use rexpect::session::{PtySession, spawn_command};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The milliseconds after which a terminal that says nothing ends a test.
const LIMIT_MS: u64 = 120_000;
const FILE: &str = "scenarios/question/row-diff.toml";

fn shipped() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    std::fs::read_to_string(path).expect("the shipped file")
}

/// A file's text without its rules, which are all in one place.
fn emptied(text: &str) -> String {
    let (begin, end) = (text.find("[[expect]]").expect("a rule"), text.find("[control]").expect("a control arm"));
    format!("{}{}", &text[..begin], &text[end..])
}

fn rules(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("[[expect]]")).count()
}

/// A folder with the file.
fn folder(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(FILE);
    std::fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    (folder, path)
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).env("NO_COLOR", "1").env_remove("CI");
    command.args(["run", "--scenarios", "scenarios", "--stage", "sim"]).args(args).current_dir(folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).stdin(Stdio::null()).output().expect("rehang runs")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_file_without_rules_gets_rules_that_pass_and_no_more_than_by_hand() {
    let shipped = shipped();
    let (folder, path) = folder(&emptied(&shipped));
    assert_eq!(run(folder.path(), &[]).status.code(), Some(2), "a file without rules is no right file");
    let accepted = run(folder.path(), &["--accept"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted));
    let written = std::fs::read_to_string(&path).expect("the file");
    let passes = run(folder.path(), &[]);
    assert_eq!(passes.status.code(), Some(0), "{}", text(&passes));
    assert!(rules(&written) <= rules(&shipped), "{} rules:\n{written}", rules(&written));
    // what was there stays, and a second time nothing is written
    let kept = emptied(&shipped);
    assert!(written.starts_with(kept.trim_end()), "{written}");
    let again = run(folder.path(), &["--accept"]);
    assert!(text(&again).contains("accepted 0 cells in 0 files; as expected"), "{}", text(&again));
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), written);
}

/// The line that says by when guard is to end the run.
fn within_of_guard(file: &str) -> &str {
    let rule =
        file.split("[[expect]]").find(|rule| rule.contains("strategies = [\"guard\"]")).expect("a rule of guard");
    let line = rule.lines().find(|line| line.starts_with("within ")).expect("a limit");
    assert_eq!(file.matches(line).count(), 1, "{line} is of guard alone");
    line
}

#[test]
fn a_strategy_that_changed_is_one_rule_that_changes() {
    let shipped = shipped();
    let within = within_of_guard(&shipped);
    let wrong = shipped.replace(within, "within     = \"999ms\"");
    let (folder, path) = folder(&wrong);
    assert_eq!(run(folder.path(), &["--strategy", "guard"]).status.code(), Some(1));
    let accepted = run(folder.path(), &["--strategy", "guard", "--accept"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted));
    assert!(text(&accepted).contains("0 rules added, 1 changed, 0 removed"), "{}", text(&accepted));
    let written = std::fs::read_to_string(&path).expect("the file");
    let changed: Vec<&str> = written.lines().zip(wrong.lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
    assert_eq!(changed, [within]);
}

#[test]
fn a_rejected_without_a_cause_is_refused_but_of_whom_is_known_for_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/pawwork/permission.toml");
    let shipped = std::fs::read_to_string(path).expect("the shipped file");
    let (begin, end) =
        (shipped.find("[[expect]]").expect("a rule"), shipped.find("[control]").unwrap_or(shipped.len()));
    let (folder, path) = folder(&format!("{}{}", &shipped[..begin], &shipped[end..]));
    let accepted = run(folder.path(), &["--accept"]);
    assert_eq!(accepted.status.code(), Some(1), "{}", text(&accepted));
    let said = text(&accepted);
    let refused: Vec<&str> = said.lines().filter(|line| line.starts_with("not accepted: ")).collect();
    let of =
        |stack: &str| refused.iter().filter(|line| line.contains(stack) && line.contains("without a cause")).count();
    assert_eq!((refused.len(), of("ledger@v0"), of("external-result")), (2, 1, 1), "{said}");
    let written = std::fs::read_to_string(&path).expect("the file");
    let rules = written.split("[[expect]]").filter(|rule| rule.contains("rejected-without-cause"));
    let names: Vec<&str> = rules.filter_map(|rule| rule.lines().find(|line| line.starts_with("strategies"))).collect();
    assert_eq!(names, ["strategies = [\"blind-timeout\"]"], "{written}");
}

#[test]
fn ci_and_a_review_without_a_terminal_are_errors() {
    let (folder, path) = folder(&emptied(&shipped()));
    let before = std::fs::read_to_string(&path).expect("the file");
    let on_ci = command(folder.path(), &["--accept"]).env("CI", "true").output().expect("rehang runs");
    assert_eq!(on_ci.status.code(), Some(2));
    assert!(text(&on_ci).contains("--accept is not for CI"), "{}", text(&on_ci));
    let review = run(folder.path(), &["--review"]);
    assert_eq!(review.status.code(), Some(2));
    assert!(text(&review).contains("--review asks at a terminal"), "{}", text(&review));
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), before);
}

fn expect(session: &mut PtySession, what: &str) -> String {
    session.exp_string(what).unwrap_or_else(|error| panic!("no {what:?}: {error}"))
}

#[test]
fn a_review_asks_for_each_rule_and_writes_what_was_accepted() {
    let shipped = shipped();
    let within = within_of_guard(&shipped);
    let wrong = shipped.replace(within, "within     = \"999ms\"").replace(
        "strategies = [\"wall\"]\noutcome    = { stopped = \"wall\" }",
        "strategies = [\"wall\"]\noutcome    = { stopped = \"idle\" }",
    );
    let (folder, path) = folder(&wrong);
    let mut session = spawn_command(command(folder.path(), &["--review"]), Some(LIMIT_MS)).expect("a terminal");
    // first `wall`, since its rule comes first
    expect(&mut session, "(1 of 2), 3 cells");
    expect(&mut session, "question/row-diff::wall::tty::1");
    expect(&mut session, "expected stopped by idle, got stopped by wall");
    expect(&mut session, "4h");
    expect(&mut session, "- outcome    = { stopped = \"idle\" }");
    expect(&mut session, "+ outcome    = { stopped = \"wall\" }");
    expect(&mut session, "[a]ccept, [r]eject, [s]kip");
    session.send_line("what").expect("a line");
    expect(&mut session, "[a]ccept, [r]eject, [s]kip");
    session.send_line("r").expect("a line");
    expect(&mut session, "(2 of 2), 3 cells");
    expect(&mut session, "question/row-diff::guard::tty::1");
    expect(&mut session, "- within     = \"999ms\"");
    expect(&mut session, &format!("+ {within}"));
    expect(&mut session, "[a]ccept, [r]eject, [s]kip");
    session.send_line("a").expect("a line");
    expect(&mut session, "1 changed, 0 removed");
    expect(&mut session, "question/row-diff::wall::tty::1: rejected in the review");
    expect(&mut session, "accepted 3 cells in 1 file; NOT as expected: 3 cells");
    let status = session.process().wait().expect("it ends");
    assert!(format!("{status:?}").ends_with(", 1)"), "{status:?}");
    let written = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(written, wrong.replace("within     = \"999ms\"", within));
}
