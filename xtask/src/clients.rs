//! Real clients against the fakes: what people install from npm and PyPI, driven by the scripts of `tests/clients`.
//!
//! Invariants: clients are installed into rehang's cache and nowhere else, without running their install scripts; they
//! run with a fresh HOME, an environment of a few names, a dummy key and, if the kernel allows it, a network that is
//! only loopback. A client that could not be installed is reported as not run, which is not a success.

use crate::tools;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use xshell::Shell;

/// The time limit of a driver: after it the driver is ended, and has failed.
const CEILING: &str = "90";
/// How many times as fast as the wall clock the fakes run for the rows, and the wrappers' own limits with them.
const SPEED: &str = "300";
/// The page with the rows.
const ROWS: &str = "tests/clients/ROWS.md";

/// A client that people install.
struct Client {
    registry: Registry,
    package: &'static str,
    /// The script, the scenario that is played for it, and with which arguments it runs.
    script: &'static str,
    scenario: &'static str,
    runs: &'static [&'static [&'static str]],
    /// The argument under which it is a wrapper with a row of its own, and the terminal that it is put on.
    row: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Registry {
    Npm,
    PyPI,
}

const CLIENTS: [Client; 4] = [
    Client {
        registry: Registry::Npm,
        package: "@opencode-ai/sdk",
        script: "opencode.mjs",
        scenario: "opencode.toml",
        runs: &[
            &["default", "answers"],
            &["default", "denies"],
            &["default", "never"],
            &["v2", "answers"],
            &["v2", "denies"],
            &["v2", "never"],
        ],
        row: None,
    },
    Client {
        registry: Registry::Npm,
        package: "@anthropic-ai/claude-agent-sdk",
        script: "claude.mjs",
        scenario: "claude.toml",
        runs: &[&["answers"], &["denies"], &["never"]],
        row: Some(("answers", "pipe")),
    },
    Client {
        registry: Registry::PyPI,
        package: "claude-agent-sdk",
        script: "claude_sdk.py",
        scenario: "claude.toml",
        runs: &[&["answers"], &["denies"], &["never"]],
        row: Some(("answers", "pipe")),
    },
    Client {
        registry: Registry::PyPI,
        package: "little-loops",
        script: "run_little_loops.py",
        scenario: "little-loops.toml",
        runs: &[&["completes"], &["runs-out-of-time"]],
        row: Some(("wraps", "null")),
    },
];

/// Installs the clients and runs them; returns 1 if one of them failed or none could be run.
pub fn clients(sh: &Shell, fresh: bool, rows: bool) -> xshell::Result<u8> {
    let rehang = tools::built(sh, false)?;
    match run(&rehang, fresh, rows) {
        Ok(code) => Ok(code),
        Err(error) => {
            eprintln!("error: {error}");
            Ok(2)
        }
    }
}

fn run(rehang: &Path, fresh: bool, rows: bool) -> io::Result<u8> {
    let cache = cache().join("clients");
    fs::create_dir_all(&cache)?;
    let alone = loopback_alone();
    if alone.is_empty() {
        println!("note: no network namespace can be had here; the clients run with the machine's network");
    }
    let (mut ran, mut failed, mut table) = (0, 0, Vec::new());
    for client in &CLIENTS {
        say(&format!("installing {}", client.package));
        let installed = match install(client, &cache, fresh) {
            Ok(installed) => installed,
            Err(why) => {
                println!("not run  {} ({}): {why}", client.package, registry(client.registry));
                continue;
            }
        };
        let name = format!("{} {}", client.package, installed.version);
        for args in client.runs {
            say(&format!("running {name} {}", args.join(" ")));
            ran += 1;
            match drive(rehang, client, &installed, args, &alone) {
                Ok(said) => println!("ok       {name}, {}: {said}", args.join(" ")),
                Err(why) => {
                    failed += 1;
                    println!("FAILED   {name}, {}:\n{why}", args.join(" "));
                }
            }
        }
        if let Some(of) = client.row.filter(|_| rows) {
            table.push(row(rehang, client, &installed, of, &alone)?);
        }
    }
    if rows && !table.is_empty() {
        let head = "# Real clients as wrappers\n\nWritten by `cargo xtask clients --rows`; the limits of each are its own, \
                    divided by the pace of the fakes' clock (300).\nWhat the words mean: `rehang wrapper --help`.\n";
        fs::write(tools::root().join(ROWS), format!("{head}\n{}", table.join("\n")))?;
        println!("wrote    {ROWS}");
    }
    println!("{ran} runs, {failed} failed");
    Ok(u8::from(failed > 0 || ran == 0))
}

/// An installed client: its version, and the interpreter with the script that drives it.
struct Installed {
    version: String,
    program: PathBuf,
    script: PathBuf,
}

fn install(client: &Client, cache: &Path, fresh: bool) -> Result<Installed, String> {
    let folder = cache.join(client.package.trim_start_matches('@').replace('/', "-"));
    if fresh {
        let _ = fs::remove_dir_all(&folder);
    }
    let text = |error: io::Error| error.to_string();
    fs::create_dir_all(&folder).map_err(text)?;
    let ours = tools::root().join("tests/clients").join(client.script);
    match client.registry {
        Registry::Npm => {
            let package = folder.join("node_modules").join(client.package).join("package.json");
            if !package.is_file() {
                let mut npm = Command::new("npm");
                // the agent that the SDK would bring along is optional: a fake replaces it
                npm.args(["install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--prefix"]);
                done(npm.arg(&folder).arg(client.package))?;
            }
            let json = fs::read_to_string(package).map_err(text)?;
            let version = json.lines().find_map(|line| line.trim().strip_prefix("\"version\": \"")?.split('"').next());
            // a module is looked for in the folder of the script that imports it
            let script = folder.join(client.script);
            fs::copy(ours, &script).map_err(text)?;
            Ok(Installed { version: version.unwrap_or("?").to_owned(), program: which("node")?, script })
        }
        Registry::PyPI => {
            let python = folder.join("bin/python");
            if !python.is_file() {
                done(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            }
            let show = || Command::new(&python).args(["-m", "pip", "show", client.package]).output().map_err(text);
            let mut shown = show()?;
            if !shown.status.success() {
                done(Command::new(&python).args(["-m", "pip", "install", "--quiet", client.package]))?;
                shown = show()?;
            }
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let version = shown.lines().find_map(|line| line.strip_prefix("Version: "));
            Ok(Installed { version: version.unwrap_or("?").to_owned(), program: python, script: ours })
        }
    }
}

fn drive(
    rehang: &Path,
    client: &Client,
    installed: &Installed,
    args: &[&str],
    alone: &[String],
) -> Result<String, String> {
    let room = Room::new().map_err(|error| error.to_string())?;
    let bin = room.0.join("bin");
    let scenario = tools::root().join("tests/clients").join(client.scenario);
    done(Command::new(rehang).arg("path").arg(scenario).arg("--dir").arg(&bin))?;
    let mut command = room.command(alone, installed, Some(&bin));
    command.env("CHECK", "1").args(["timeout", "-k", "5", CEILING]);
    let out = command.arg(&installed.program).arg(&installed.script).args(args).output();
    let out = out.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    if out.status.success() { Ok(said) } else { Err(format!("{said}\n{}", failure(&out))) }
}

/// The row of a client that is a wrapper.
fn row(
    rehang: &Path,
    client: &Client,
    installed: &Installed,
    (argument, terminal): (&str, &str),
    alone: &[String],
) -> io::Result<String> {
    let room = Room::new()?;
    let name = format!("{}@{}", client.package.trim_start_matches('@').replace('/', "-"), installed.version);
    say(&format!("measuring {name}"));
    let mut command = room.command(alone, installed, None);
    let scenarios = tools::root().join("scenarios");
    let options = ["--deadline", "20s", "--speed", SPEED, "--jobs", "24", "--terminal", terminal, "--name", &name];
    command.arg(rehang).arg("wrapper").args(options).arg("--scenarios").arg(scenarios);
    let out = command.arg("--").arg(&installed.program).arg(&installed.script).arg(argument).output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    if !text.contains("strategy") {
        return Err(io::Error::other(format!("{name}: {}", failure(&out))));
    }
    // the summary says how many are untouched
    let told: String =
        text.lines().filter(|line| !line.starts_with("untouched")).map(|line| format!("{line}\n")).collect();
    let program = installed.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let call = format!("--terminal {terminal} -- {program} tests/clients/{} {argument}", client.script);
    Ok(format!(
        "## {} {}\n\n    rehang wrapper --deadline 20s --speed {SPEED} {call}\n\n```text\n{}\n```\n",
        client.package,
        installed.version,
        told.trim_end()
    ))
}

/// A fresh folder that is HOME, working folder and everything else; deleted when this is dropped.
struct Room(PathBuf);

impl Room {
    fn new() -> io::Result<Room> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let path = std::env::temp_dir().join(format!("rehang-clients-{}-{}", std::process::id(), now.as_nanos()));
        fs::create_dir_all(path.join("home"))?;
        Ok(Room(path))
    }

    /// A command in it: without the caller's environment, with a dummy key, and only loopback if that is available.
    fn command(&self, alone: &[String], installed: &Installed, bin: Option<&Path>) -> Command {
        let (program, args) = alone.split_first().map_or(("env", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        let own = installed.program.parent().map(Path::to_owned);
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = bin.map(Path::to_owned).into_iter().chain(own).chain(usual);
        command.args(args).env_clear().current_dir(self.0.join("home"));
        command.env("PATH", std::env::join_paths(path).unwrap_or_default());
        command.env("HOME", self.0.join("home")).env("TMPDIR", &self.0);
        command.env("ANTHROPIC_API_KEY", "dummy").env("DISABLE_TELEMETRY", "1").env("LANG", "C.UTF-8");
        command
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The words that put a command into a network namespace with only loopback; empty if that is not available.
fn loopback_alone() -> Vec<String> {
    let up = "ip link set lo up 2>/dev/null || exec python3 -c 'raise SystemExit(1)'; exec \"$@\"";
    let words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", up, "sh"].map(str::to_owned);
    let works = Command::new(&words[0]).args(&words[1..]).arg("true").output().is_ok_and(|out| out.status.success());
    if works { words.to_vec() } else { Vec::new() }
}

fn cache() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    of("REHANG_CACHE").or_else(|| Some(cache()?.join("rehang"))).unwrap_or_else(|| PathBuf::from(".rehang-cache"))
}

fn which(program: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("there is no `{program}` on PATH"))
}

fn done(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|error| format!("{program}: {error}"))?;
    if out.status.success() { Ok(()) } else { Err(format!("{program}: {}", failure(&out))) }
}

fn failure(out: &Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("npm warn")).collect();
    let last = &lines[lines.len().saturating_sub(15)..];
    if last.is_empty() { out.status.to_string() } else { last.join("\n") }
}

fn registry(registry: Registry) -> &'static str {
    match registry {
        Registry::Npm => "npm",
        Registry::PyPI => "PyPI",
    }
}

/// Prints what is done now, for a person who watches.
fn say(what: &str) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "{what}…");
    }
}
