//! Real clients against the fakes: what people install from npm, PyPI and crates.io, driven by the scripts of
//! `tests/clients`.
//!
//! Invariants: clients are installed in the version that is named here, into rehang's cache and nowhere else, without
//! running their install scripts; they run with a fresh HOME, an environment of a few names, a dummy key and, if the
//! kernel allows it, a network that is only loopback. A client that could not be installed is reported as not run, which
//! is not a success.

mod install;
mod list;
mod room;
mod rows;

use crate::tools::{self, Profile};
use install::{Installed, done, failure, install};
use list::{CLIENTS, Client, Expected};
use room::{Room, loopback_alone};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use xshell::{Shell, cmd};

/// The time limit of a driver in seconds: after it the driver is ended, and has failed.
const CEILING: &str = "150";

/// What is asked of `cargo xtask clients`.
pub struct Wish<'w> {
    /// Install the clients anew.
    pub fresh: bool,
    /// Write the page of wrappers.
    pub rows: bool,
    /// Make the rows again, and compare them with the page.
    pub check: bool,
    /// Only clients whose names contain this.
    pub filter: Option<&'w str>,
}

/// Installs the clients and runs them; returns 1 if one of them failed, none could be run, or a row differs.
pub fn clients(sh: &Shell, wish: &Wish<'_>) -> xshell::Result<u8> {
    let rehang = tools::built(sh, tools::REHANG, Profile::Dev)?;
    // of the modes `guarded`
    cmd!(sh, "cargo build --quiet --package rehang-c-api").quiet().run()?;
    match run(&rehang, wish) {
        Ok(code) => Ok(code),
        Err(error) => {
            eprintln!("error: {error}");
            Ok(2)
        }
    }
}

fn run(rehang: &Path, wish: &Wish<'_>) -> io::Result<u8> {
    let cache = cache().join("clients");
    fs::create_dir_all(&cache)?;
    let alone = loopback_alone();
    if alone.is_empty() {
        println!("note: no network namespace can be had here; the clients run with the machine's network");
    }
    let (mut ran, mut failed, mut sections) = (0, 0, Vec::new());
    for client in CLIENTS.iter().filter(|client| wish.filter.is_none_or(|part| client.package.contains(part))) {
        let name = format!("{} {}", client.package, client.version);
        say(&format!("installing {name}"));
        let installed = match install(client, &cache, wish.fresh) {
            Ok(installed) => installed,
            Err(why) => {
                println!("not run  {name} ({}): {why}", client.registry.name());
                continue;
            }
        };
        for (args, expected) in client.runs {
            say(&format!("running {name} {}", args.join(" ")));
            ran += 1;
            match drive(rehang, client, &installed, args, expected, &alone) {
                Ok(said) => println!("ok       {name}, {} {}: {said}", client.script, args.join(" ")),
                Err(why) => {
                    failed += 1;
                    println!("FAILED   {name}, {} {}:\n{why}", client.script, args.join(" "));
                }
            }
        }
        for row in client.rows.iter().filter(|_| wish.rows || wish.check) {
            say(&format!("measuring {name} {}", row.argument));
            sections.push(rows::section(rehang, client, row, &installed, &alone)?);
        }
    }
    let differ = if wish.check { rows::compare(&sections)? } else { 0 };
    if wish.rows {
        rows::write(&sections, wish.filter.is_none())?;
    }
    println!("{ran} runs, {failed} failed");
    Ok(u8::from(failed > 0 || ran == 0 || differ > 0))
}

/// Runs a driver. What it says is compared with the file that is expected, if there is one.
fn drive(
    rehang: &Path,
    client: &Client,
    installed: &Installed,
    args: &[&str],
    expected: &Expected,
    alone: &[String],
) -> Result<String, String> {
    let room = Room::new().map_err(|error| error.to_string())?;
    let bin = room.0.join("bin");
    let scenario = tools::root().join("tests/clients").join(client.scenario);
    done(Command::new(rehang).arg("path").arg(scenario).arg("--dir").arg(&bin))?;
    let mut command = room.command(alone, rehang, installed, Some(&bin));
    command.env("CHECK", "1").args(["timeout", "-k", "5", CEILING]);
    let out = command.args(installed.call()).args(args).output();
    let out = out.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    if !out.status.success() {
        return Err(format!("{said}\n{}", failure(&out)));
    }
    let Expected::File(name) = expected else {
        return Ok(said.lines().next_back().unwrap_or_default().trim().to_owned());
    };
    let path = tools::root().join("tests/clients").join(name);
    let kept = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // `#` begins a line of the file that is for its readers
    let kept: Vec<&str> = kept.lines().filter(|line| !line.starts_with('#')).collect();
    let differs = |line: &&str| !kept.contains(line);
    let new: Vec<&str> = said.lines().filter(differs).collect();
    let gone: Vec<&&str> = kept.iter().filter(|line| !said.lines().any(|other| other == **line)).collect();
    if new.is_empty() && gone.is_empty() {
        Ok(format!("{} lines as in {name}", kept.len()))
    } else {
        Err(format!("not as in {name}:\n  now {}\n  no longer {gone:?}", new.join("\n  now ")))
    }
}

fn cache() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    of("REHANG_CACHE").or_else(|| Some(cache()?.join("rehang"))).unwrap_or_else(|| PathBuf::from(".rehang-cache"))
}

/// Prints what is done now, for a person who watches.
fn say(what: &str) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "{what}…");
    }
}
