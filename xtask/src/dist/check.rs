//! Installs what was built as its users do, and runs it in an empty root.
//!
//! Invariant: nothing of the repository or of the target folder but what was installed can be seen there, HOME and the
//! current folder are empty, and no installation asks the network. What does not end is ended after five minutes, and is wrong.

use super::{Built, human, size};
use crate::tools;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xshell::{Shell, cmd};

/// What is run in each root, and its exit code; each in a shell.
const RUNS: [(&str, i32); 5] = [
    ("rehang why --help", 0),
    ("rehang run question/", 0),
    // what a caller branches on is the binary's own
    ("rehang run no-such-cell", 2),
    // a signal to the command reaches what it runs: that says when it is ready, and has an exit code of its own
    (
        "mkfifo ready never; rehang supervise -- sh -c 'trap \"exit 7\" TERM; echo > ready; read x < never' & \
         read x < ready; kill -TERM $!; wait $!",
        7,
    ),
    // a signal that ends the binary ends the launcher, if there is one, in the same way
    ("rehang supervise -- sh -c 'kill -KILL $PPID'", 128 + 9),
];

/// What a program calls that has the wheel installed.
const PYTHON: &str =
    "import os, rehang; print(rehang.why(os.getpid()).state.value, rehang.Guard(os.getpid()).ask().state.value)";
/// The same of the package of npm, whose folder is the first argument.
const NODE: &str = "require(process.argv[1]).why(process.pid).then((why) => console.log(why.state))";

/// Installs and runs all; returns 1 if one of them does not do what it must.
pub(super) fn check(sh: &Shell, out: &Path, built: &Built) -> xshell::Result<u8> {
    let folder = out.join("check");
    let mut wrong = 0;
    for (name, installed) in [
        ("archive", unpacked(sh, &folder, built)?),
        ("wheel", with_pip(sh, &folder, &built.wheel)?),
        ("npm", with_npm(sh, &folder, &built.npm)?),
    ] {
        println!("{name}: {} installed", human(below(&installed)));
        if !installed.join("share/man/man1/rehang-why.1").is_file() {
            wrong += 1;
            println!("  WRONG: there is no manual page rehang-why.1");
        }
        for (command, code) in RUNS {
            let began = Instant::now();
            let (got, said) = run_in(sh, &folder, &installed, command)?;
            let right = got == code;
            wrong += u32::from(!right);
            let verdict = if right { "ok" } else { "WRONG" };
            println!("  {verdict}: exit {got} after {:.1} s: {command}", began.elapsed().as_secs_f64());
            match said.trim_end() {
                said if !right => println!("{said}"),
                said if command.contains("run question/") => {
                    println!("    {}", said.lines().last().unwrap_or_default())
                }
                _ => {}
            }
        }
    }
    Ok(u8::from(wrong + calls(sh, &folder)? > 0))
}

/// Calls the functions of the wheel and of the package of npm; returns how many fail. The interpreters are the machine's, so not
/// in an empty root.
fn calls(sh: &Shell, folder: &Path) -> xshell::Result<u32> {
    let (python, module) = (folder.join("wheel/bin/python"), folder.join("npm/lib/node_modules/rehang"));
    let mut wrong = 0;
    for call in [cmd!(sh, "{python} -c {PYTHON}"), cmd!(sh, "node -e {NODE} {module}")] {
        match call.quiet().read() {
            Ok(said) => println!("  ok: called from a program: {said}"),
            Err(error) => {
                wrong += 1;
                println!("  WRONG: {error}");
            }
        }
    }
    Ok(wrong)
}

fn unpacked(sh: &Shell, folder: &Path, built: &Built) -> xshell::Result<PathBuf> {
    let (archive, to) = (&built.archive, folder.join("archive"));
    sh.create_dir(to.join("bin"))?;
    sh.create_dir(to.join("share"))?;
    cmd!(sh, "tar --extract --file {archive} --directory {to}").quiet().run()?;
    let unpacked = to.join(format!("rehang-{}", built.target));
    for (what, place) in [("rehang", "bin"), ("man", "share")] {
        let (what, place) = (unpacked.join(what), to.join(place));
        cmd!(sh, "mv {what} {place}").quiet().run()?;
    }
    Ok(to)
}

fn with_pip(sh: &Shell, folder: &Path, wheel: &Path) -> xshell::Result<PathBuf> {
    let to = folder.join("wheel");
    let (pip, python) = (tools::target().join("dist-tools/bin/pip"), to.join("bin/python"));
    cmd!(sh, "python3 -m venv --without-pip {to}").quiet().run()?;
    let flags = ["--quiet", "--disable-pip-version-check"];
    cmd!(sh, "{pip} {flags...} --python {python} install --no-index {wheel}").quiet().run()?;
    Ok(to)
}

fn with_npm(sh: &Shell, folder: &Path, packages: &[PathBuf]) -> xshell::Result<PathBuf> {
    let to = folder.join("npm");
    let cache = folder.join("npm-cache");
    let flags = ["--offline", "--no-audit", "--no-fund", "--silent"];
    cmd!(sh, "npm install --global {flags...} --cache {cache} --prefix {to} {packages...}").quiet().run()?;
    Ok(to)
}

/// Runs a command in an empty root; its exit code, and what it said.
fn run_in(sh: &Shell, folder: &Path, installed: &Path, command: &str) -> xshell::Result<(i32, String)> {
    let root = folder.join("root");
    sh.create_dir(&root)?;
    let node = prefix(sh, "node")?;
    let (prefixes, path) = match node.starts_with("/usr") {
        true => (String::new(), String::new()),
        false => (format!("{}:", node.display()), format!("{}/bin:", node.display())),
    };
    let script = tools::root().join("xtask/src/dist/root.sh");
    let spaces = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"];
    let whole = cmd!(sh, "unshare {spaces...} sh {script} {root} {installed} {prefixes} {command} {path}").quiet();
    let out = std::process::Command::from(whole.ignore_status()).output();
    let Ok(out) = out else { return Ok((-1, "unshare cannot be started".to_owned())) };
    let said = [out.stdout, out.stderr].concat();
    Ok((out.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned()))
}

/// The folder in whose `bin` a program is, links followed.
fn prefix(sh: &Shell, program: &str) -> xshell::Result<PathBuf> {
    let path = cmd!(sh, "sh -c").arg(format!("readlink -f \"$(command -v {program})\"")).quiet().read()?;
    Ok(Path::new(path.trim()).ancestors().nth(2).unwrap_or(Path::new("/usr")).to_owned())
}

/// The bytes of all files below a folder.
fn below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => below(&entry.path()),
        Ok(kind) if kind.is_file() => size(&entry.path()),
        _ => 0,
    };
    entries.map(bytes).sum()
}
