//! One scenario on the wall clock: lays the folder out, starts the processes, and looks.
//!
//! Invariant: when a [`Wall`] is dropped, its keeper ends all processes of it and is waited for.

use super::cells::{Cell, Progress, Says};
use super::records;
use rehang_evidence::{Limits, Look, Options, Pid, Snapshot, diagnose};
use rehang_fakes::stand_in::StandIn;
use rehang_hangs::Signature;
use rehang_scenario::{Fault, Place, Proof, Scenario};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The window of one look.
const WINDOW: Duration = Duration::from_millis(40);
/// Looks after which it is played again, and how many times slower, with as many times the looks.
const LOOKS: u64 = 150;
const SLOWER: [u64; 3] = [1, 2, 4];
/// The time on the wall clock in which all happens that happens before the hang.
const TAKES_MS: u64 = 500;
/// The least pace of a cycle: in the window of one look passes what passes in the stage's, a second.
const CYCLE_SPEED: u64 = 25;
/// The least pace with a model that has a fault: what it says now and then is said within a few looks.
const MODEL_SPEED: u64 = 120;
/// The greatest pace: two minutes are then 24 ms, in which a process begins.
const MOST_SPEED: u64 = 5_000;
/// The silence that counts as such: a minute of the scenario, within these limits.
const SILENT_MS: std::ops::RangeInclusive<u64> = 50..=500;

/// The file that is the standard error of all around the agent.
const ERRORS: &str = "errors";

/// The processes of one scenario.
struct Wall {
    keeper: Child,
    lifeline: Option<ChildStdin>,
    told: Receiver<String>,
    agent: Pid,
    wrapper: Pid,
    client: Option<Pid>,
    folder: tempfile::TempDir,
}

impl Drop for Wall {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.keeper.wait();
    }
}

/// How many times as fast as the wall clock the fakes' clock runs.
fn speed(cell: &Cell) -> u64 {
    let has_model = cell.scenario.faults.iter().any(|fault| fault.place() == Place::Model);
    let least = match cell.proof {
        _ if has_model => MODEL_SPEED,
        Proof::Lasso => CYCLE_SPEED,
        Proof::Deadlock => 1,
    };
    (cell.last.0 / TAKES_MS).clamp(least, MOST_SPEED)
}

/// Plays the cell, and looks until it shows what fits twice in a row. If it does not, perhaps since a process was given
/// no processor while the fakes' clock ran past one of its limits, it is played again, slower and for longer.
///
/// # Errors
/// It cannot be started, or never shows it.
pub fn shows(cell: &Cell, fits: &dyn Fn(&Says) -> bool) -> Result<(), String> {
    let mut shown = Ok(());
    for slower in SLOWER {
        shown = shows_at((speed(cell) / slower).max(1), LOOKS * slower, cell, fits);
        if shown.is_ok() {
            break;
        }
    }
    shown
}

fn shows_at(speed: u64, looks: u64, cell: &Cell, fits: &dyn Fn(&Says) -> bool) -> Result<(), String> {
    let mut wall = Wall::of(cell, speed)?;
    let silent_ms = (60_000 / speed).clamp(*SILENT_MS.start(), *SILENT_MS.end());
    let limits = Limits { silent_ms };
    let (mut row, mut last) = (0, None);
    for _ in 0..looks {
        // taken before the look: what it shows is later
        let progress = wall.records()?;
        let look = wall.look(&limits);
        row = match progress.has_come_to(&cell.progress) && fits(&Says::of(&look.diagnosis)) {
            true => row + 1,
            false => 0,
        };
        if row == 2 {
            return Ok(());
        }
        last = Some((progress, look));
    }
    let Some((progress, look)) = last else { return Err("nobody looked".to_owned()) };
    let found = &look.diagnosis;
    let graph = rehang_evidence::graph(&look.before, &look.after, &limits);
    let lines: Vec<String> = graph.edges.iter().map(|edge| graph.line(edge)).collect();
    Err(format!(
        "on sim {:?} at {:?}, here {:?} at {progress:?}: {} ({}); {}; {lines:#?}{}",
        cell.says,
        cell.progress,
        Says::of(found),
        found.sentence,
        found.because,
        evidence(&found.evidence),
        wall.errors()
    ))
}

fn evidence(all: &[rehang_evidence::Evidence]) -> String {
    let each = all.iter().map(|one| format!("{} [{}]", one.text, evidence(&one.below)));
    each.collect::<Vec<_>>().join("; ")
}

impl Wall {
    fn of(cell: &Cell, speed: u64) -> Result<Wall, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let bin = folder.path().join("bin");
        lay_out(cell, speed, &bin)?;
        for name in ["work", "home", "opencode/log", "altimate-code/log"] {
            std::fs::create_dir_all(folder.path().join(name)).map_err(|e| e.to_string())?;
        }
        let order = json!({ "scenario": cell.scenario, "terminal": cell.terminal, "speed": speed });
        let path = folder.path().join("order.json");
        std::fs::write(&path, order.to_string()).map_err(|e| e.to_string())?;
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(own);
        // a pipe here would be shared with those around the other scenarios, who are out of sight
        let errors = std::fs::File::create(folder.path().join(ERRORS)).map_err(|e| e.to_string())?;
        command.arg("--keeper").arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut keeper = command.spawn().map_err(|e| e.to_string())?;
        let (lifeline, out) = (keeper.stdin.take(), keeper.stdout.take());
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out.expect("a pipe")).lines().map_while(Result::ok) {
                // nobody hears it if the scenario is over
                let _ = tell.send(line);
            }
        });
        let mut wall = Wall { keeper, lifeline, told, agent: 0, wrapper: 0, client: None, folder };
        while wall.agent == 0 {
            let line = wall.told.recv().map_err(|_| format!("the keeper has ended: {}", wall.errors()))?;
            wall.hears(&line);
        }
        Ok(wall)
    }

    /// The keeper tells who is who.
    fn hears(&mut self, line: &str) {
        match line.split_once(' ').and_then(|(word, pid)| Some((word, pid.parse().ok()?))) {
            Some(("wrapper", pid)) => self.wrapper = pid,
            Some(("agent", pid)) => self.agent = pid,
            Some(("client", pid)) => self.client = Some(pid),
            _ => {}
        }
    }

    /// The agent if it lives, else the wrapper.
    fn root(&self) -> Pid {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.agent)).unwrap_or_default();
        let lives = stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']));
        if lives { self.agent } else { self.wrapper }
    }

    /// What those around the agent could not do.
    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(ERRORS)).unwrap_or_default()
    }

    /// Writes the agents' records; returns how far all have come.
    fn records(&self) -> Result<Progress, String> {
        records::write(self.folder.path()).map_err(|e| e.to_string())
    }

    /// Looks as the stage does.
    fn look(&mut self, limits: &Limits) -> Look {
        while let Ok(line) = self.told.try_recv() {
            self.hears(&line);
        }
        let look = rehang_evidence::look(&[self.root()], &Options { ask: true, ..Options::default() }, limits, WINDOW);
        // an agent that ends within the window is looked for again
        let Ok(mut look) = look else { return Look::of(None, Snapshot::default(), limits) };
        for snapshot in [&mut look.before, &mut look.after] {
            rehang_stage::dress(snapshot);
        }
        look.diagnosis = diagnose(&look.before, &look.after, limits);
        // a server that waits for requests explains nothing: what does the client wait for?
        if look.diagnosis.signature == Signature::Serves
            && let Some(client) = self.client
            && look.after.around.contains_key(&client)
        {
            for snapshot in [&mut look.before, &mut look.after] {
                snapshot.roots = vec![client];
            }
            look.diagnosis = diagnose(&look.before, &look.after, limits);
        }
        look
    }
}

/// Lays the folder out by `rehang path`; where it refuses a fault that is played beside the agent here, as it does.
fn lay_out(cell: &Cell, speed: u64, bin: &Path) -> Result<(), String> {
    let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang"));
    let scenario = &cell.scenario;
    if StandIn::of(scenario).is_err() {
        let beside = |fault: &Fault| fault.place() == Place::Wrapper;
        let faults = scenario.faults.iter().filter(|fault| !beside(fault)).cloned().collect();
        let mut stand_in = StandIn::of(&Scenario { faults, ..scenario.clone() })?;
        stand_in.plan.faults.clone_from(&scenario.faults);
        stand_in.speed = u32::try_from(speed).unwrap_or(u32::MAX);
        return stand_in.lay_out(bin, &fakes).map_err(|e| e.to_string());
    }
    let mut command = Command::new(&fakes);
    command.args(["path", &cell.name, "--speed", &speed.to_string(), "--dir"]).arg(bin);
    let file = cell.name.split('[').next().unwrap_or_default();
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    command.arg("--scenarios").arg(scenarios.join(format!("{file}.toml")));
    let out = command.env("REHANG_FAKES", &fakes).output().map_err(|e| e.to_string())?;
    match out.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&out.stderr).into_owned()),
    }
}
