//! `rehang supervise` around real commands: what hangs is ended with the right reason, what is silent is left alone.
//!
//! Invariant: outcomes and order alone are asserted. Limits are parameters, and small; a ceiling only aborts. A command
//! that must outlast them waits for a word from the test, not for time.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

fn supervise(cache: &Path, args: &[&str], command: &[&str]) -> Command {
    let mut all = Command::new(env!("CARGO_BIN_EXE_rehang"));
    all.arg("supervise").args(args).arg("--").args(command).env("REHANG_CACHE", cache);
    // bash complains about a locale that is not installed
    all.env("LC_ALL", "C");
    all.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    all
}

fn end(mut child: Child) -> Run {
    // a test that holds the command's stdin must not close it before the command has ended
    let stdin = child.stdin.take();
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
    let status = child.wait().expect("a child");
    drop(stdin);
    assert_eq!(status.signal(), None);
    Run { code: status.code(), out, err }
}

fn run(args: &[&str], command: &[&str]) -> Run {
    let cache = tempfile::tempdir().expect("a folder");
    end(supervise(cache.path(), args, command).spawn().expect("rehang"))
}

fn why(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("why.json")).expect("evidence");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_run_that_ends_by_itself_is_as_it_would_be_without_us() {
    let plain = run(&[], &["sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((plain.code, plain.out.as_str(), plain.err.as_str()), (Some(7), "out\n", "err\n"));
    assert_eq!(run(&[], &["sh", "-c", "kill -KILL $$"]).code, Some(137));
    let gone = run(&[], &["no-such-command"]);
    assert!(gone.code == Some(127) && gone.err.contains("no-such-command"), "{}", gone.err);
    assert_eq!(run(&[], &["/etc/passwd"]).code, Some(126));
}

#[test]
fn a_command_needs_no_dashes_before_it() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.args(["supervise", "--wall", "1h", "echo", "-n", "hello"]).env("REHANG_CACHE", cache.path());
    let out = command.stdin(Stdio::null()).output().expect("rehang runs");
    assert_eq!((out.status.code(), String::from_utf8_lossy(&out.stdout).as_ref()), (Some(0), "hello"));
    let wrong = Command::new(env!("CARGO_BIN_EXE_rehang")).args(["supervise", "--wal", "1h", "echo"]).output();
    let wrong = wrong.expect("rehang runs");
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(2) && said.contains("'--wall'"), "{said}");
}

#[test]
fn stdin_is_the_callers() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut child = supervise(cache.path(), &[], &["cat"]).stdin(Stdio::piped()).spawn().expect("rehang");
    let mut stdin = child.stdin.take().expect("a pipe");
    let text: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let writer = std::thread::spawn({
        let text = text.clone();
        move || stdin.write_all(text.as_bytes())
    });
    let ended = end(child);
    writer.join().expect("a thread").expect("it is read");
    assert!(ended.out == text && ended.code == Some(0));
    assert!(!cache.path().join("supervised").read_dir().is_ok_and(|mut left| left.next().is_some()), "nothing is kept");
}

#[test]
fn a_stdin_that_nobody_writes_is_found_and_ended() {
    let cache = tempfile::tempdir().expect("a folder");
    let kept = cache.path().join("kept");
    let args = ["--pace", "100", "--grace", "1s", "--evidence", &kept.to_string_lossy()];
    // the shell's own child waits: what is ended is the whole tree
    let mut command = supervise(cache.path(), &args, &["sh", "-c", "cat; echo never"]);
    let ended = end(command.stdin(Stdio::piped()).spawn().expect("rehang"));
    assert_eq!(ended.code, Some(123), "{}", ended.err);
    assert!(ended.err.contains("stdin-open") && ended.err.lines().count() == 1, "{}", ended.err);
    assert_eq!(ended.out, "");
    let why = why(&kept);
    assert_eq!(why["diagnosis"]["signature"], "stdin-open");
    assert!(why["snapshot"]["tree"].is_object() && why["left"] == serde_json::json!([]), "{why:#}");
}

#[test]
fn one_that_has_spoken_may_wait_for_the_next_word() {
    let cache = tempfile::tempdir().expect("a folder");
    let args = ["--pace", "200"];
    let script = "echo ready; read line; echo got $line";
    let mut child =
        supervise(cache.path(), &args, &["sh", "-c", script]).stdin(Stdio::piped()).spawn().expect("rehang");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    assert_eq!(line, "ready\n");
    // minutes of the strategy's clock, with several looks
    let clock = Command::new("sleep").arg("2").status().expect("a clock");
    assert!(clock.success());
    stdin.write_all(b"it\n").expect("it still reads");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!((rest.as_str(), child.wait().expect("a child").code()), ("got it\n", Some(0)));
}

#[test]
fn what_a_finished_command_leaves_on_the_pipe_is_ended() {
    let cache = tempfile::tempdir().expect("a folder");
    let kept = cache.path().join("kept");
    let args = ["--pace", "200", "--evidence", &kept.to_string_lossy()];
    // one in the group, one that has left it; and one that closed the streams, which keeps nobody waiting
    let free = cache.path().join("free");
    let script = format!(
        "sleep 1000 & setsid sleep 1001 & (sleep 1002 </dev/null >/dev/null 2>&1 & echo $! >{}); echo done; exit 3",
        free.display()
    );
    let ended = end(supervise(cache.path(), &args, &["sh", "-c", &script]).spawn().expect("rehang"));
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "done\n"), "{}", ended.err);
    assert!(ended.err.contains("pipe-held"), "{}", ended.err);
    let ended_ones = why(&kept)["ended"].as_array().map(Vec::len);
    assert_eq!(ended_ones, Some(2), "{:#}", why(&kept));
    let pid = std::fs::read_to_string(free).expect("a pid");
    let pid = nix::unistd::Pid::from_raw(pid.trim().parse().expect("a pid"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("the one that let go is still there");
}

/// A disk that is full, of the caller: the command's output is lost, and nobody is told that all went well.
#[test]
fn output_that_its_caller_cannot_take_is_an_error() {
    let cache = tempfile::tempdir().expect("a folder");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    for (script, code) in [("echo hi", 125), ("echo hi; exit 3", 3)] {
        let ran = supervise(cache.path(), &[], &["sh", "-c", script]).stdout(full()).output().expect("rehang");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(code), "{said}");
        assert!(said.contains("rehang: stdout does not take the command's output: No space left"), "{said}");
    }
}

/// A program that waits for a tool, which reads a stdin that the program holds open: the tool is ended, and the program
/// goes on by its own error path.
#[test]
fn a_tool_that_hangs_is_ended_and_the_command_goes_on() {
    let cache = tempfile::tempdir().expect("a folder");
    let script = "import subprocess as s; p = s.Popen(['cat'], stdin=s.PIPE); print('the tool ended with', p.wait())";
    let args = ["--pace", "100"];
    let mut command = supervise(cache.path(), &args, &["python3", "-c", script]);
    let ended = end(command.stdin(Stdio::null()).spawn().expect("rehang"));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "the tool ended with -15\n"), "{}", ended.err);
    assert!(ended.err.starts_with("rehang: ends cat ("), "{}", ended.err);
    assert!(ended.err.contains("and the command goes on"), "{}", ended.err);
}

/// Below a shell that would go on with its script the whole run is ended, unless it is known which program is the agent.
#[test]
fn a_program_that_the_user_calls_an_agent_survives_its_tool() {
    let cache = tempfile::tempdir().expect("a folder");
    let script = cache.path().join("my-agent.py");
    let text = "import subprocess as s; p = s.Popen(['cat'], stdin=s.PIPE); print('the tool ended with', p.wait())";
    std::fs::write(&script, text).expect("a script");
    let run = |more: &[&str]| {
        let args = [&["--pace", "1000"], more].concat();
        let script = format!("python3 {}; echo after", script.display());
        end(supervise(cache.path(), &args, &["sh", "-c", &script]).spawn().expect("rehang"))
    };
    let unknown = run(&[]);
    assert!(unknown.code == Some(123) && unknown.out.is_empty(), "{} {}", unknown.out, unknown.err);
    let named = run(&["--agent", "my-agent"]);
    assert_eq!((named.code, named.out.as_str()), (Some(0), "the tool ended with -15\nafter\n"), "{}", named.err);
}

#[test]
fn a_silent_build_is_left_alone() {
    // three minutes of the strategy's clock and more, without a word, on a stdin that nobody writes: one that waits for
    // a child, one that computes
    let cache = tempfile::tempdir().expect("a folder");
    let builds = ["sleep 2; echo built", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo built"];
    for script in builds {
        let args = ["--pace", "120"];
        let mut command = supervise(cache.path(), &args, &["sh", "-c", script]);
        let ended = end(command.stdin(Stdio::piped()).spawn().expect("rehang"));
        let all = (ended.code, ended.out.as_str(), ended.err.as_str());
        assert_eq!(all, (Some(0), "built\n", ""), "{script}");
    }
}

#[test]
fn the_wall_ends_everybody_wherever_they_are() {
    let cache = tempfile::tempdir().expect("a folder");
    let kept = cache.path().join("kept");
    let args = ["--wall", "500ms", "--grace", "100ms", "--evidence", &kept.to_string_lossy()];
    let script = "trap '' TERM; setsid sh -c \"trap '' TERM; echo $$; sleep 1000\" & (setsid sleep 1001 &); sleep 1002";
    let ended = end(supervise(cache.path(), &args, &["sh", "-c", script]).spawn().expect("rehang"));
    assert!(ended.code == Some(124) && ended.err.contains("[wall"), "{}", ended.err);
    let why = why(&kept);
    assert_eq!(why["left"], serde_json::json!([]));
    let pids = why["ended"].as_array().expect("a list").iter().map(|name| {
        let name = name.as_str().expect("a name");
        PathBuf::from(name.rsplit_once('(').expect("a pid").1.trim_end_matches(')'))
    });
    for pid in pids {
        assert!(!Path::new("/proc").join(&pid).exists(), "{} is left", pid.display());
    }
    assert!(why["ended"].as_array().is_some_and(|all| !all.is_empty()));
}

#[test]
fn what_is_kept_is_what_it_did_before_it_was_ended() {
    let cache = tempfile::tempdir().expect("a folder");
    let kept = cache.path().join("kept");
    let script = "echo a; sleep 100";
    for args in [["--wall", "1s"], ["--strategy", "idle@f54b32f(timeout=1s)"]] {
        let place = kept.to_string_lossy();
        let args = [args[0], args[1], "--evidence", &place];
        let ended = end(supervise(cache.path(), &args, &["sh", "-c", script]).spawn().expect("rehang"));
        let why = why(&kept);
        assert_eq!(why["diagnosis"]["verdict"], "waiting", "{args:?}: {:#}", why["diagnosis"]);
        let tree = why["snapshot"]["tree"].as_object().expect("processes");
        assert!(tree.values().any(|process| process["comm"] == "sleep"), "{tree:#?}");
        assert!(!tree.values().any(|process| process["state"] == "zombie"), "{tree:#?}");
        let names = why["ended"].to_string();
        assert!(names.contains("sleep (") && ended.err.contains("; ended sh"), "{names} {}", ended.err);
    }
}

#[test]
fn signals_reach_the_command() {
    let cache = tempfile::tempdir().expect("a folder");
    let script = "trap 'echo told; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = supervise(cache.path(), &[], &["sh", "-c", script]).spawn().expect("rehang");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("it runs");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!((rest.as_str(), child.wait().expect("a child").code()), ("told\n", Some(9)));
}

#[test]
fn a_stack_that_sits_elsewhere_is_refused() {
    let refused = run(&["--strategy", "watcher@pr3"], &["true"]);
    assert!(refused.code == Some(2) && refused.err.contains("does not sit around a process"), "{}", refused.err);
    assert_eq!(run(&["--strategy", "no-such"], &["true"]).code, Some(2));
    let idle = run(&["--strategy", "idle@f54b32f(timeout=1s)", "--pace", "10"], &["sleep", "1000"]);
    assert!(idle.code == Some(123) && idle.err.contains("idle"), "{}", idle.err);
}

/// A command under supervision whose events come out of a pipe.
struct Told {
    child: Child,
    events: BufReader<std::io::PipeReader>,
}

impl Told {
    /// With a stdin that the test holds. Descriptor 9 is the events'.
    fn of(cache: &Path, args: &[&str], script: &str) -> Told {
        use std::os::fd::AsRawFd;
        use std::os::unix::process::CommandExt;
        let (read, write) = std::io::pipe().expect("a pipe");
        let all: Vec<&str> = args.iter().copied().chain(["--events", "fd:9"]).collect();
        let mut command = supervise(cache, &all, &["sh", "-c", script]);
        command.stdin(Stdio::piped());
        let number = write.as_raw_fd();
        // SAFETY: one system call between fork and exec; it does not allocate.
        unsafe {
            command.pre_exec(move || {
                // the pipe may be descriptor 9 itself: then nothing is copied, and exec would close it
                let kept = if number == 9 { libc::fcntl(9, libc::F_SETFD, 0) == 0 } else { libc::dup2(number, 9) == 9 };
                if kept { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            });
        }
        Told { child: command.spawn().expect("rehang"), events: BufReader::new(read) }
    }

    /// The events up to and with the first of this kind.
    fn until(&mut self, kind: &str) -> Vec<serde_json::Value> {
        let mut all: Vec<serde_json::Value> = Vec::new();
        let mut line = String::new();
        while all.last().is_none_or(|event| event["event"] != kind) {
            line.clear();
            assert!(self.events.read_line(&mut line).expect("text") > 0, "no {kind} in {all:#?}");
            all.push(serde_json::from_str(&line).expect("JSON"));
            assert_eq!(all[all.len() - 1]["v"], 1);
        }
        all
    }

    /// Writes a line to the command's stdin, and closes it.
    fn answers(&mut self, line: &str) {
        let mut stdin = self.child.stdin.take().expect("it is open");
        stdin.write_all(line.as_bytes()).expect("somebody reads");
    }
}

#[test]
fn what_is_seen_planned_and_done_is_told() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut told = Told::of(cache.path(), &["--pace", "100", "--grace", "1s"], "cat; echo never");
    let all = told.until("end");
    let kinds: Vec<&str> = all.iter().map(|event| event["event"].as_str().expect("a kind")).collect();
    let first = |kind: &str| {
        let at = kinds.iter().position(|other| *other == kind);
        at.unwrap_or_else(|| panic!("no {kind} in {kinds:?}"))
    };
    assert!(first("start") == 0 && first("look") < first("act") && first("act") < first("end"), "{kinds:?}");
    let look = &all[first("look")];
    assert!(look["signature"] == "stdin-open" && look["last_line"] == "", "{look:#}");
    let names: Vec<&str> =
        look["processes"].as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["sh", "cat"]);
    let waits = look["waits"].as_array().expect("a list");
    assert!(waits[0]["over"] == "child" && waits[1]["which"] == "its standard input", "{waits:#?}");
    let before = all[..first("act")].iter();
    let plan = before.rev().find(|event| event["event"] == "plan" && event["cause"] == "stdin-open").expect("a plan");
    let ms = |key: &str| plan[key].as_u64().expect("a time");
    let act = &all[first("act")];
    // half a minute of the strategy's clock if this process, which holds the stdin, was seen to wait for the command alone
    let limit_ms = ms("at_ms") - ms("since_ms");
    assert!(plan["does"] == "end" && (299..=401).contains(&limit_ms), "{plan:#}");
    let limits = [30_000, 40_000].map(serde_json::Value::from);
    assert!(act["done"] == true && limits.contains(&act["constants"]["limit_ms"]), "{act:#}");
    assert!(act["ms"].as_u64() >= plan["at_ms"].as_u64(), "not before its time: {act:#} {plan:#}");
    let last = all.last().expect("an end");
    assert_eq!((&last["code"], &last["by"]), (&123.into(), &"guard-process".into()), "{last:#}");
    assert_eq!(last["ended"].as_array().map(Vec::len), Some(2), "{last:#}");
    let ended = end(told.child);
    assert_eq!((ended.code, ended.out.as_str()), (Some(123), ""));
}

#[test]
fn a_strategy_announces_its_limit_and_keeps_to_it() {
    let cache = tempfile::tempdir().expect("a folder");
    // half a minute of the strategy's clock is a second and a half: three looks that agree fit in on a loaded machine too
    let mut told = Told::of(cache.path(), &["--pace", "20", "--grace", "1s"], "exec sleep infinity");
    let all = told.until("end");
    let at = |kind: &str| all.iter().position(|event| event["event"] == kind).expect(kind);
    let act = &all[at("act")];
    assert_eq!((&act["by"], &act["cause"]), (&"guard-process".into(), &"never-ends".into()), "{act:#}");
    assert!(act["does"] == "signal" && act["signal"] == "TERM" && act["done"] == true, "{act:#}");
    assert_eq!(act["constants"]["limit_ms"], 30_000, "{act:#}");
    let plan = all[..at("act")].iter().rfind(|event| event["cause"] == "never-ends").expect("a plan");
    let ms = |event: &serde_json::Value, key: &str| event[key].as_u64().expect("a time");
    assert!(ms(plan, "at_ms").abs_diff(ms(plan, "since_ms") + 1_500) <= 1, "{plan:#}");
    assert!(ms(act, "ms") >= ms(plan, "at_ms"), "not before its time: {act:#} {plan:#}");
    let look = &all[..at("act")].iter().rfind(|event| event["event"] == "look").expect("a look");
    assert!(look["closed_in"] == true && look["waits"][0]["to"] == "nobody", "{look:#}");
    assert_eq!(end(told.child).code, Some(123));
}

/// An agent that speaks the Agent Client Protocol: it says these lines, and waits for its host.
fn speaks(cache: &Path, lines: &[&str]) -> String {
    let script = cache.join("goose");
    let says: String = lines.iter().map(|line| format!("print('{line}', flush=True)\n")).collect();
    std::fs::write(&script, format!("import sys\n{says}sys.stdin.readline()\n")).expect("a script");
    format!("exec python3 {}", script.display())
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;
const ASKS: &str = r#"{"jsonrpc":"2.0","id":4,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c1","title":"npm test"},"options":[]}}"#;

#[test]
fn what_an_agent_has_asked_its_host_has_a_persons_time() {
    let cache = tempfile::tempdir().expect("a folder");
    // without that message it would be a stdin that nobody writes to, which has 40 seconds; ten minutes of the strategy's
    // clock are 3 s
    let args = ["--pace", "200", "--grace", "1s", "--strategy", "guard(person=10m)"];
    let mut told = Told::of(cache.path(), &args, &speaks(cache.path(), &[INITIALIZED, ASKS]));
    let all = told.until("end");
    let act = all.iter().find(|event| event["event"] == "act").expect("an act");
    assert_eq!((&act["cause"], &act["constants"]["limit_ms"]), (&"permission-open".into(), &600_000.into()), "{act:#}");
    let look = all.iter().rfind(|event| event["event"] == "look").expect("a look");
    let sentence = look["sentence"].as_str().expect("a text");
    assert!(sentence.contains("its permission prompt for “npm test”"), "{sentence}");
    let ended = end(told.child);
    assert_eq!(ended.code, Some(123));
    let notices: Vec<&str> = ended.err.lines().filter(|line| line.contains("; unless that changes, ")).collect();
    let notice = notices.first().expect("it says what it will do");
    assert!(notices.len() == 1 && notice.starts_with(&format!("rehang: {sentence}")[..20]), "{}", ended.err);
    assert!(notice.contains("guard ends it in ") && notice.contains("'guard(person=TIME)'"), "{notice}");
}

#[test]
fn an_agent_that_waits_for_the_next_request_of_its_host_is_left_alone() {
    let cache = tempfile::tempdir().expect("a folder");
    let over = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
    let args = ["--pace", "200"];
    let mut told = Told::of(cache.path(), &args, &speaks(cache.path(), &[INITIALIZED, ASKS, over]));
    let mut look = told.until("look").pop().expect("a look");
    while look["verdict"] == "working" {
        look = told.until("look").pop().expect("a look");
    }
    assert_eq!((&look["verdict"], &look["signature"]), (&"waiting".into(), &"serves".into()), "{look:#}");
    told.answers("the next request\n");
    let last = told.until("end").pop().expect("an end");
    assert_eq!((&last["code"], &last["by"]), (&0.into(), &serde_json::Value::Null), "{last:#}");
    end(told.child);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let cache = tempfile::tempdir().expect("a folder");
    // whatever a strategy would do: trust a look, send a signal
    for (args, cause) in [(["--pace", "100"], "stdin-open"), (["--wall", "300ms"], "wall")] {
        let args = [args[0], args[1], "--dry-run"];
        let script =
            "test -e /proc/self/fd/9 && echo inherited; trap 'echo told' TERM; read line; echo got $line; exit 4";
        let mut told = Told::of(cache.path(), &args, script);
        let act = told.until("act").pop().expect("an act");
        assert_eq!((&act["done"], &act["cause"]), (&false.into(), &cause.into()), "{act:#}");
        assert!(act["processes"][0].as_str().is_some_and(|name| name.starts_with("sh (")), "{act:#}");
        told.answers("it\n");
        let last = told.until("end").pop().expect("an end");
        assert_eq!((&last["code"], &last["by"]), (&4.into(), &serde_json::Value::Null), "{last:#}");
        let folder = PathBuf::from(last["evidence"].as_str().expect("a folder"));
        assert!(why(&folder)["dry_run"] == true && why(&folder)["ended"] == serde_json::json!([]));
        let ended = end(told.child);
        assert_eq!((ended.code, ended.out.as_str()), (Some(4), "got it\n"), "{}", ended.err);
        assert!(ended.err.contains("dry run: after") && ended.err.contains(&format!("[{cause}")), "{}", ended.err);
    }
}

#[test]
fn what_was_found_does_not_count_once_it_moves() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut told = Told::of(cache.path(), &["--pace", "100"], "echo ready; read line; echo got $line; exec cat");
    let seen = told.until("look");
    assert_eq!(seen.last().expect("a look")["last_line"], "ready");
    assert!(seen.iter().all(|event| event["event"] != "moved"), "{seen:#?}");
    let stdin = told.child.stdin.as_mut().expect("it is open");
    stdin.write_all(b"it\n").expect("somebody reads");
    told.until("moved");
    drop(told.child.stdin.take());
    let last = told.until("end").pop().expect("an end");
    assert_eq!(last["code"], 0);
    assert_eq!(end(told.child).out, "ready\ngot it\n");
}

#[test]
fn nobody_has_to_read_the_events() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut told = Told::of(cache.path(), &[], "read line; echo got $line; exit 3");
    drop(told.events);
    told.child.stdin.take().expect("it is open").write_all(b"it\n").expect("somebody reads");
    let ended = end(told.child);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(3), "got it\n", ""));
}

#[test]
fn a_place_that_cannot_be_written_is_the_users_error() {
    for (place, remedy) in [("fd:1", "use 2 or"), ("fd:77", "fd:77"), ("/nowhere/at/all", "/nowhere/at/all")] {
        let said = run(&["--events", place], &["true"]);
        assert!(said.code == Some(2) && said.err.contains(remedy), "{place}: {}", said.err);
    }
}

/// A person at a terminal on which `rehang supervise` runs.
struct Person {
    master: std::fs::File,
    child: Child,
}

impl Person {
    fn before(cache: &Path, script: &str) -> Person {
        use rustix::pty::OpenptFlags;
        use std::os::unix::process::CommandExt;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = std::fs::File::from(rustix::pty::openpt(flags).expect("a terminal"));
        rustix::pty::grantpt(&master).expect("a terminal of one's own");
        rustix::pty::unlockpt(&master).expect("a terminal of one's own");
        let size = rustix::termios::Winsize { ws_row: 33, ws_col: 99, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&master, size).expect("a terminal has a size");
        let path = rustix::pty::ptsname(&master, Vec::new()).expect("it has a name");
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let slave = std::fs::File::from(rustix::fs::open(&path, flags, 0o600.into()).expect("its other side"));
        let mut command = supervise(cache, &[], &["sh", "-c", script]);
        let stream = || slave.try_clone().expect("a descriptor");
        command.stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: system calls alone between fork and exec; none allocates.
        unsafe {
            command.pre_exec(|| {
                // tests that run in the background or under nohup ignore these, and a shell cannot trap what it ignores
                for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        Person { master, child: command.spawn().expect("rehang") }
    }

    /// Reads until the terminal shows this text.
    fn sees(&mut self, text: &str) {
        let (mut seen, mut byte) = (Vec::new(), [0]);
        while !String::from_utf8_lossy(&seen).contains(text) {
            match self.master.read(&mut byte) {
                Ok(1..) => seen.push(byte[0]),
                _ => panic!("{text:?} is not seen in {:?}", String::from_utf8_lossy(&seen)),
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }
}

#[test]
fn a_terminal_stays_one() {
    let cache = tempfile::tempdir().expect("a folder");
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size; read x; echo got $x; exit 5";
    let mut person = Person::before(cache.path(), script);
    person.sees("33 99");
    person.types("it\n");
    person.sees("got it");
    assert_eq!(person.child.wait().expect("a child").code(), Some(5));
}

#[test]
fn a_person_interrupts_and_resizes() {
    let cache = tempfile::tempdir().expect("a folder");
    let script =
        "trap 'stty size' WINCH; trap 'echo interrupted; exit 6' INT; echo ready; while :; do sleep 0.05; done";
    let mut person = Person::before(cache.path(), script);
    person.sees("ready");
    let size = rustix::termios::Winsize { ws_row: 20, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&person.master, size).expect("a terminal has a size");
    person.sees("20 60");
    person.types("\x03");
    person.sees("interrupted");
    assert_eq!(person.child.wait().expect("a child").code(), Some(6));
}
