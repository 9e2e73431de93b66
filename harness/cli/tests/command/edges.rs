//! A machine that lacks something: the message names what it is and what to do, and the exit code is 70 (125 of
//! `supervise`, which has a table of its own).
//!
//! Invariant: no case waits for a time. A case that needs a namespace or another user is skipped with its reason if
//! there is none.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A user that owns nothing and runs nothing.
const STRANGER: u32 = 4_242_424;

/// An agent that runs a command, without anything on loopback.
const COMMAND: &str = r#"
title = "Runs a command"
mechanism = "F1"
agent = { opencode = { as = "1.2.15" } }
terminals = ["null", "tty"]
turns = [{ bash = { command = "make", does = [{ print = "made" }] } }, { say = "done" }]

[[expect]]
outcome = "completed"
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place(folder);
        place.write("command.toml", COMMAND);
        let asks_a_model = COMMAND
            .replace("[[expect]]", "faults = [{ model = { response = 1, does = { pause = \"1s\" } } }]\n[[expect]]");
        place.write("model.toml", &asks_a_model);
        use std::os::unix::fs::PermissionsExt;
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(place.0.path(), everybody).expect("a folder of ours");
        place
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.path().join(name);
        std::fs::write(&file, text).expect("a file");
        file
    }

    /// rehang, started through this command (`unshare …`), or directly if it is empty.
    fn command(&self, by: &[&str], args: &[&str]) -> Command {
        let own = env!("CARGO_BIN_EXE_rehang");
        let mut words = by.iter().copied().chain([own]).chain(args.iter().copied());
        let mut command = Command::new(words.next().unwrap_or(own));
        command.args(words).env("REHANG_FAKES", own).env("NO_COLOR", "1").env("XDG_CACHE_HOME", self.0.path());
        command.env("HOME", self.0.path()).env("RUST_BACKTRACE", "0").current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn rehang(&self, by: &[&str], args: &[&str]) -> Said {
        Said::of(self.command(by, args).output().expect("it starts"), args)
    }
}

struct Said {
    code: Option<i32>,
    /// stdout and stderr, each run of white space as one blank.
    text: String,
}

impl Said {
    fn of(out: Output, args: &[&str]) -> Said {
        let text = [out.stdout, out.stderr].concat();
        let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!text.contains("panicked"), "{args:?}: {text}");
        Said { code: out.status.code(), text: format!("{args:?}: {text}") }
    }

    fn is(&self, code: i32, names: &str) {
        assert!(
            self.code == Some(code) && self.text.contains(names),
            "not {code} with {names}: {:?} {}",
            self.code,
            self.text
        );
    }
}

const RUN: [&str; 9] = ["run", "--stage", "both", "--jobs", "1", "--strategy", "none", "--scenarios", "command.toml"];

fn run(file: &'static str) -> Vec<&'static str> {
    RUN[..8].iter().copied().chain([file]).collect()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn limited(command: &mut Command, resource: nix::sys::resource::Resource, to: u64) {
    // SAFETY: two system calls between fork and exec, which allocate nothing.
    unsafe {
        command.pre_exec(move || {
            // those that other tests have open at this moment would count
            libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
            Ok(nix::sys::resource::setrlimit(resource, to, to)?)
        });
    }
}

/// A descriptor that programs inherit.
fn inheritable() -> OwnedFd {
    let null = std::fs::File::open("/dev/null").expect("it is there");
    nix::unistd::dup(null).expect("a descriptor")
}

#[test]
fn a_limit_of_processes() {
    let place = Place::new();
    let findings = place.0.path().join("findings");
    let own = std::process::id().to_string();
    let under = |limit: u64, args: &[&str]| {
        let mut command = place.command(&[], args);
        if is_root() {
            // root has no such limit
            command.uid(STRANGER).gid(STRANGER);
        }
        limited(&mut command, nix::sys::resource::Resource::RLIMIT_NPROC, limit);
        command.output().map(|out| Said::of(out, args))
    };
    if let Err(error) = under(1, &["--version"]) {
        println!("skipped: another user cannot start {}: {error}", env!("CARGO_BIN_EXE_rehang"));
        return;
    }
    // an ordinary user may run any number of processes already, so that only 1 is surely too few
    for limit in 1..=if is_root() { 3 } else { 1 } {
        let said = |args: &[&str]| under(limit, args).expect("it starts");
        said(&run("command.toml")).is(70, "ulimit -u");
        said(&["show", "--stage", "lockstep", "--scenarios", "command.toml", "none::null"]).is(70, "ulimit -u");
        // threads alone: with fewer of them it takes longer
        let findings = findings.to_string_lossy().into_owned();
        said(&["explore", "--steps", "4", "--jobs", "4", "--out", &findings]).is(0, "known defect");
        let why = said(&["why", "--window", "10ms", &own, "1"]);
        assert!(why.code.is_some_and(|code| code < 70), "{}", why.text);
        if limit < 2 {
            said(&["supervise", "--evidence", "kept", "--", "true"]).is(125, "ulimit -u");
            said(&["wrapper", "--scenarios", "command.toml", "--", "true"]).is(70, "ulimit -u");
            // one worker could not be started, and nothing is said of each cell
            assert!(!said(&run("command.toml")).text.contains("FAIL"));
        }
    }
}

#[test]
fn a_limit_of_open_files() {
    let place = Place::new();
    place.write("tty.toml", &COMMAND.replace(r#"["null", "tty"]"#, r#"["tty"]"#));
    place.write("null.toml", &COMMAND.replace(r#"["null", "tty"]"#, r#"["null"]"#));
    for file in ["tty.toml", "null.toml"] {
        let mut enough = None;
        for limit in 4..=32 {
            let args = run(file);
            let mut command = place.command(&[], &args);
            // as another test of this binary may have a terminal open meanwhile
            let _others = (limit % 2 == 0).then(|| [inheritable(), inheritable()]);
            limited(&mut command, nix::sys::resource::Resource::RLIMIT_NOFILE, limit);
            let said = Said::of(command.output().expect("it starts"), &args);
            match said.code {
                // the dynamic loader could not open a library
                Some(127) => assert!(limit < 6, "{}", said.text),
                Some(0) => drop(enough.get_or_insert(limit)),
                _ => {
                    said.is(70, "ulimit -n");
                    assert_eq!(enough, None, "{limit}: {}", said.text);
                }
            }
        }
        assert!(enough.is_some_and(|limit| limit > 8), "{file}: {enough:?}");
    }
}

#[test]
fn a_small_stack_has_room_for_arguments() {
    let place = Place::new();
    // each fits, and both together are more than the 128 KiB that Linux takes for an exec with this stack; a participant that
    // is forked is not given them by the kernel
    let (shown, printed) = ("x".repeat(100_000), "y".repeat(60_000));
    let long = COMMAND.replace("\"make\"", &format!("\"{shown}\"")).replace("\"made\"", &format!("\"{printed}\""));
    place.write("long.toml", &long);
    place.rehang(&[], &run("long.toml")).is(0, "4 passed");
    let said = place.rehang(&["sh", "-c", "ulimit -s 512 && exec \"$0\" \"$@\""], &run("long.toml"));
    said.is(0, "4 passed");
}

#[test]
fn what_is_just_short_enough_is_played_on_both_stages() {
    let place = Place::new();
    let command = |bytes: usize| COMMAND.replace("\"make\"", &format!("\"{}\"", "x".repeat(bytes)));
    place.write("fits.toml", &command(131_071));
    place.rehang(&[], &run("fits.toml")).is(0, "one trace each");
    let too_long = "this command has 131072 bytes; Linux takes at most 131071 as one argument --> long.toml:6:31";
    place.write("long.toml", &command(131_072));
    place.rehang(&[], &run("long.toml")).is(2, too_long);
    place.rehang(&[], &["check", "long.toml"]).is(2, too_long);
    // a nested agent, which is in a variable: 130,047 bytes with its turns
    let nested = |bytes: usize| {
        let agent = "{ opencode = { as = \"1.2.15\", mode = \"run\" } }";
        let step = format!("{{ agent = {{ agent = {agent}, turns = [{{ say = \"{}\" }}] }} }}", "z".repeat(bytes));
        COMMAND.replace("{ print = \"made\" }", &step)
    };
    let mut fits = 129_000;
    // the longest that `check` lets pass, whatever JSON puts around it
    for step in [512, 64, 8, 1] {
        loop {
            place.write("nested.toml", &nested(fits + step));
            match place.rehang(&[], &["check", "nested.toml"]).code {
                Some(0) => fits += step,
                _ => break,
            }
        }
    }
    place.write("nested.toml", &nested(fits));
    place.rehang(&[], &run("nested.toml")).is(0, "one trace each");
    place.write("nested.toml", &nested(fits + 1));
    place.rehang(&[], &run("nested.toml")).is(2, "this agent and its turns are 130048 bytes of JSON");
}

#[test]
fn a_temporary_folder_that_is_none() {
    let place = Place::new();
    let mut command = place.command(&[], &["wrapper", "--scenarios", "command.toml", "--", "true"]);
    let out = command.env("TMPDIR", "/dev/null/none").output().expect("it starts");
    Said::of(out, &["wrapper"]).is(70, "TMPDIR");
}

/// `unshare` with the options that let a user use it; `None` if this machine gives no namespaces.
fn unshare<'a>(what: &'a str, then: &'a str) -> Option<Vec<&'a str>> {
    let mut words = vec!["unshare"];
    if !is_root() {
        words.push("--map-root-user");
    }
    words.extend([what, "sh", "-c", then]);
    let works = Command::new(words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) {
        return Some(words);
    }
    println!("skipped: this machine does not let `{}` work", words.join(" "));
    None
}

#[test]
fn no_proc() {
    let place = Place::new();
    let Some(without) = unshare("--mount", "mount -t tmpfs none /proc && exec \"$0\" \"$@\"") else { return };
    let said = |args: &[&str]| place.rehang(&without, args);
    let remedy = "mount -t proc proc /proc";
    for stage in ["sim", "lockstep", "both"] {
        said(&["run", "--stage", stage, "--strategy", "none", "--scenarios", "command.toml"]).is(70, remedy);
        said(&["show", "--stage", stage, "--scenarios", "command.toml", "none::null"]).is(70, remedy);
    }
    let all: [&[&str]; 8] = [
        &["score", "--scenarios", "command.toml"],
        &["wrapper", "--scenarios", "command.toml", "--", "true"],
        &["path", "command.toml"],
        &["why", "1"],
        &["why", "--name", "sh"],
        &["reproduce", "1"],
        &["upstream", "opencode@1.2.15", "--scenarios", "command.toml"],
        &["bisect", "opencode", "command", "--good", "1.0.0", "--bad", "1.2.15", "--scenarios", "command.toml"],
    ];
    for args in all {
        said(args).is(70, remedy);
    }
    said(&["supervise", "--", "true"]).is(125, remedy);
    // what starts nothing needs none
    said(&["check", "command.toml"]).is(0, "1 right");
    said(&["list", "--scenarios", "command.toml"]).is(0, "command::none::null::1");
}

#[test]
fn no_loopback() {
    let place = Place::new();
    let Some(without) = unshare("--net", "exec \"$0\" \"$@\"") else { return };
    let remedy = "ip link set lo up";
    place.rehang(&without, &run("model.toml")).is(70, remedy);
    // what does not go over it needs none
    place.rehang(&without, &run("command.toml")).is(0, "one trace each");
    let serve = COMMAND.replace("as = \"1.2.15\"", "as = \"1.2.15\", mode = \"serve\"");
    place.write("serve.toml", &serve);
    place.rehang(&without, &run("serve.toml")).is(70, remedy);
    // a fake of one's own suite, started by hand
    let folder = place.0.path().join("bin");
    place.rehang(&[], &["path", "serve.toml", "--dir", &folder.to_string_lossy()]).is(0, "bin");
    let fake = folder.join("opencode");
    let mut serves = Command::new(without[0]);
    serves.args(&without[1..]).arg(&fake).args(["serve", "--port", "0"]).stdin(Stdio::null());
    Said::of(serves.output().expect("it starts"), &["opencode", "serve"]).is(70, remedy);
    // and of a wrapper under test
    let script = place.write("wrapper.sh", "opencode serve --port 0\n");
    let args = ["wrapper", "--terminal", "null", "--scenarios", "serve.toml", "--", "sh", &script.to_string_lossy()];
    let said = place.rehang(&without, &args);
    assert!(said.code.is_some_and(|code| code != 0) && said.text.contains(remedy), "{:?} {}", said.code, said.text);
}

#[test]
fn no_terminal_left() {
    let place = Place::new();
    let full = "mount -t devpts -o newinstance,ptmxmode=0666,max=1 devpts /dev/pts && \
                mount --bind /dev/pts/ptmx /dev/ptmx && exec 9<>/dev/ptmx && exec \"$0\" \"$@\"";
    let Some(without) = unshare("--mount", full) else { return };
    let said = place.rehang(&without, &run("command.toml"));
    said.is(70, "kernel.pty.max");
    assert!(Path::new("/dev/ptmx").exists() && said.text.contains("opening a terminal"), "{}", said.text);
    let args = ["wrapper", "--terminal", "tty", "--scenarios", "command.toml", "--", "true"];
    place.rehang(&without, &args).is(70, "kernel.pty.max");
}
