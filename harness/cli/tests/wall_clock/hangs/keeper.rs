//! The processes around an agent, each a role of this binary, and the keeper that starts and ends them.
//!
//! Invariant: the keeper is the subreaper of all, and ends all when its own stdin ends; whoever started it need only end.

use super::{client, wrapper};
use rehang_fakes::stand_in::StandIn;
use rehang_processes::tree;
use rehang_scenario::{Scenario, Terminal};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What is to be played.
pub struct Order {
    /// The folder of all files of this scenario.
    pub folder: PathBuf,
    pub scenario: Scenario,
    pub terminal: Terminal,
    pub speed: u64,
    began: Instant,
}

impl Order {
    fn read(path: &Path) -> std::io::Result<Order> {
        let order: serde_json::Value = serde_json::from_slice(&std::fs::read(path)?)?;
        Ok(Order {
            folder: path.parent().unwrap_or(path).to_owned(),
            scenario: serde_json::from_value(order["scenario"].clone())?,
            terminal: serde_json::from_value(order["terminal"].clone())?,
            speed: order["speed"].as_u64().unwrap_or(1),
            began: Instant::now(),
        })
    }

    /// The time of the scenario.
    pub fn now(&self) -> rehang_scenario::VTime {
        let us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        rehang_scenario::VTime(us.saturating_mul(self.speed) / 1_000)
    }

    /// How long to wait for this instant; a long time if there is none.
    pub fn wait(&self, until: Option<rehang_scenario::VTime>) -> rustix::event::Timespec {
        let ms = until.map_or(600_000, |until| until.since(self.now()).as_ms().div_ceil(self.speed));
        rustix::event::Timespec { tv_sec: (ms / 1_000).cast_signed(), tv_nsec: (ms % 1_000 * 1_000_000).cast_signed() }
    }
}

/// Plays a role; `None` if the word names none.
pub fn role(word: &str, order: &str, rest: &[String]) -> Option<ExitCode> {
    let plays: fn(&Order, &[String]) -> std::io::Result<()> = match word {
        "--keeper" => keep,
        "--wrapper" => wrapper::play,
        "--shell" => wrapper::shell,
        "--client" => client::play,
        _ => return None,
    };
    let played = Order::read(Path::new(order)).and_then(|order| plays(&order, rest));
    Some(match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{word} {order}: {error}");
            ExitCode::FAILURE
        }
    })
}

fn start(order: &Path, role: &str, rest: &[&str]) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(role).arg(order).args(rest);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
}

fn keep(order: &Order, _: &[String]) -> std::io::Result<()> {
    extern "C" fn stays(_: libc::c_int) {}
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // a signal to the whole group ends the test: this process still has to end what is left, and its children have
        // the default again
        // SAFETY: the handler does nothing
        unsafe { libc::signal(signal, stays as *const () as libc::sighandler_t) };
    }
    tree::adopt()?;
    // who outlives its parent is adopted by this process, as by an init's; it is known by its name as those are
    rustix::thread::set_name(c"tini")?;
    let (bin, json) = (order.folder.join("bin"), order.folder.join("order.json"));
    let mut stand_in = StandIn::beside(&bin.join("claude"))?.ok_or(std::io::ErrorKind::NotFound)?;
    stand_in.journal = Some(order.folder.join("journal"));
    let fakes = std::fs::read_link(bin.join("claude"))?;
    stand_in.lay_out(&bin, &fakes)?;
    // `path` offers agents alone; under another's name a plain program would be looked at as that agent
    std::os::unix::fs::symlink(&fakes, bin.join("fake-tool"))?;
    let mut wrapper = start(&json, "--wrapper", &[])?;
    say(&format!("wrapper {}", wrapper.id()));
    let out = wrapper.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            say(&line);
            if let Some(port) = line.strip_prefix("port ") {
                match start(&json, "--client", &[port]) {
                    Ok(client) => say(&format!("client {}", client.id())),
                    Err(error) => eprintln!("the client: {error}"),
                }
            }
        }
    });
    let _ = std::io::stdin().read(&mut [0; 1]);
    tree::await_ends(Duration::from_secs(10), &|those| tree::signal(those, Signal::KILL));
    Ok(())
}

/// Tells whoever started this.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
