//! Installing a client into rehang's cache.
//!
//! Invariant: no install script of a package runs; what would need one is not installed, and the reason is said.

use super::list::{Client, Registry};
use crate::tools;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An installed client: the program that starts it, and the script that drives it.
pub struct Installed {
    /// Node.js, a Python, or the client itself.
    pub program: PathBuf,
    /// The script.
    pub script: PathBuf,
}

impl Installed {
    /// The words that start it, before any argument.
    pub fn call(&self) -> Vec<&Path> {
        match self.script.extension().is_some_and(|end| end == "sh") {
            true => vec![Path::new("sh"), &self.script, &self.program],
            false => vec![&self.program, &self.script],
        }
    }
}

/// Installs a client in its version, or finds it installed. Each version has a folder of its own.
pub fn install(client: &Client, cache: &Path, fresh: bool) -> Result<Installed, String> {
    let (package, version) = (client.package, client.version);
    let folder = cache.join(format!("{}@{version}", package.trim_start_matches('@').replace('/', "-")));
    if fresh {
        let _ = fs::remove_dir_all(&folder);
    }
    let text = |error: io::Error| error.to_string();
    fs::create_dir_all(&folder).map_err(text)?;
    let ours = tools::root().join("tests/clients").join(client.script);
    match client.registry {
        Registry::Npm => {
            let inside = |package: &str| folder.join("node_modules").join(package).join("package.json");
            let wanted = || std::iter::once((package, version)).chain(client.beside.iter().copied());
            if !wanted().all(|(package, _)| inside(package).is_file()) {
                let mut npm = Command::new("npm");
                // the agent that an SDK would bring along is optional: a fake replaces it
                npm.args(["install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--prefix"]);
                npm.arg(&folder).args(wanted().map(|(package, version)| format!("{package}@{version}")));
                done(&mut npm)?;
            }
            // a module is looked for in the folder of the script that imports it: rehang's own too
            let own = folder.join("node_modules/rehang");
            // the cache is shared by checkouts, and the one that it leads to may be gone
            let _ = fs::remove_file(&own);
            symlink(tools::root().join("packaging/npm/rehang"), own).map_err(text)?;
            let script = folder.join(client.script);
            fs::copy(ours, &script).map_err(text)?;
            Ok(Installed { program: which("node")?, script })
        }
        Registry::PyPI => {
            let python = folder.join("bin/python");
            if !python.is_file() {
                done(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            }
            let show = Command::new(&python).args(["-m", "pip", "show", "--quiet", package]).output().map_err(text)?;
            if !show.status.success() {
                // a package that is no wheel would run its own script
                let pip = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:"];
                done(Command::new(&python).args(pip).arg(format!("{package}=={version}")))?;
            }
            Ok(Installed { program: python, script: ours })
        }
        Registry::Crates => {
            // its program is called as its crate is, without `-cli`
            let program = folder.join("bin").join(package.trim_end_matches("-cli"));
            if !program.is_file() {
                let mut cargo = Command::new("cargo");
                cargo.args(["install", "--quiet", "--locked", "--debug", package, "--version", version, "--root"]);
                done(cargo.arg(&folder))?;
            }
            Ok(Installed { program, script: ours })
        }
    }
}

fn which(program: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("there is no `{program}` on PATH"))
}

/// Runs a command to its end.
pub fn done(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|error| format!("{program}: {error}"))?;
    if out.status.success() { Ok(()) } else { Err(format!("{program}: {}", failure(&out))) }
}

/// The last lines of what a command complained of.
pub fn failure(out: &Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("npm warn")).collect();
    let last = &lines[lines.len().saturating_sub(15)..];
    if last.is_empty() { out.status.to_string() } else { last.join("\n") }
}
