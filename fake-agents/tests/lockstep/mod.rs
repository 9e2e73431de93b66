//! A small driver for tests of the two kernels: it starts a `fake-tool`, lets all processes run in the order of starts,
//! does what the test says at its times, and records all that happened. Not every test needs all of it.

#![allow(dead_code)]

use rehang_os::{
    kernel::{Change, InternalError, Kernel, Launch, Proc, Streams},
    lockstep,
    os::{Exit, Read, Sig, Write},
};
use rehang_scenario::{Agent, Terminal, VTime, plan::Plan, turns::Step};
use std::path::Path;

/// An action of the test at a given time.
#[derive(Clone)]
pub enum Do {
    /// Types this text, or writes it to stdin.
    Type(&'static str),
    /// Types this character this many times.
    TypeMany(char, usize),
    /// Closes stdin, or hangs the terminal up.
    Close,
    /// Signals the process of this role, or its group.
    Kill(&'static str, bool, Sig),
    /// Counts the children of the process of this role.
    Count(&'static str),
}

/// The description of a run.
pub struct Cell {
    pub steps: Vec<Step>,
    pub terminal: Terminal,
    pub acts: Vec<(u64, Do)>,
    /// stdout and stderr are not read before this time.
    pub reads_from: u64,
    pub env: Vec<(String, String)>,
    /// Nothing is done after this time.
    pub until: u64,
}

/// A run of these steps (JSON) on this terminal.
pub fn cell(terminal: Terminal, steps: &str) -> Cell {
    Cell {
        steps: serde_json::from_str(steps).unwrap(),
        terminal,
        acts: Vec::new(),
        reads_from: 0,
        env: Vec::new(),
        until: 100_000_000,
    }
}

impl Cell {
    pub fn at(mut self, ms: u64, act: Do) -> Cell {
        self.acts.push((ms, act));
        self
    }

    pub fn launch(&self) -> Launch {
        let agent = Agent::program(self.steps.clone());
        let (turns, faults, inside) = (Vec::new(), Vec::new(), Vec::new());
        Launch {
            role: "agent".into(),
            argv: vec!["fake-tool".into()],
            env: self.env.clone(),
            plan: Plan { agent, turns, faults, inside, model_port: None, tools: None, stored: None },
            terminal: self.terminal,
        }
    }
}

/// The real kernel with the fakes of this package.
pub fn kernel() -> lockstep::LockstepKernel {
    lockstep::LockstepKernel::new(Path::new(env!("CARGO_BIN_EXE_rehang-fakes"))).unwrap()
}

/// The children of this process, whichever of its threads started them.
pub fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
}

/// What `/proc` shows as a process's arguments.
pub fn arguments(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

struct Driver<'a> {
    kernel: &'a mut dyn Kernel,
    streams: Streams,
    /// The typed text that was not taken yet.
    untaken: Vec<u8>,
    log: Vec<String>,
    now: u64,
}

/// Runs it, and returns what happened, one line each.
pub fn drive(kernel: &mut dyn Kernel, cell: &Cell) -> Result<Vec<String>, InternalError> {
    let (_, streams) = kernel.start(&cell.launch())?;
    let mut driver = Driver { kernel, streams, untaken: Vec::new(), log: Vec::new(), now: 0 };
    let mut acts = cell.acts.clone();
    loop {
        driver.note(cell)?;
        let ready = driver.kernel.ready(VTime(driver.now))?;
        if let Some(&first) = ready.first() {
            driver.kernel.run(first, VTime(driver.now))?;
            continue;
        }
        if acts.first().is_some_and(|(at, _)| *at <= driver.now) {
            driver.act(&acts.remove(0).1)?;
            continue;
        }
        let deadline = driver.kernel.deadline(VTime(driver.now)).map(|t| t.0);
        let act = acts.first().map(|(at, _)| *at);
        let reads = (cell.reads_from > driver.now).then_some(cell.reads_from);
        match [deadline, act, reads].into_iter().flatten().min().filter(|&t| t <= cell.until) {
            Some(next) => driver.now = next,
            None => break,
        }
    }
    for (role, on) in driver.kernel.waits() {
        driver.log.push(format!("waits {role} {on}"));
    }
    let mut log = driver.log;
    for left in kernel.clear()? {
        log.push(format!("left {}", left.role));
    }
    Ok(log)
}

impl Driver<'_> {
    fn flush(&mut self) -> Result<(), InternalError> {
        let Some(handle) = self.streams.stdin.or(self.streams.tty) else { return Ok(()) };
        while !self.untaken.is_empty() {
            match self.kernel.write(handle, &self.untaken)? {
                Write::Took(n) => drop(self.untaken.drain(..n)),
                Write::Later | Write::Failed(_) => break,
            }
        }
        Ok(())
    }

    fn note(&mut self, cell: &Cell) -> Result<(), InternalError> {
        self.flush()?;
        for happened in self.kernel.happened() {
            let what = match happened.what {
                Change::Spawned { parent, .. } => format!("spawned by `{parent}`"),
                Change::Ended(Exit::Code(code)) => format!("exit {code}"),
                Change::Ended(Exit::Signal(sig)) => format!("killed {}", sig.name()),
                Change::Stopped(sig) => format!("stopped {}", sig.name()),
                Change::Continued => "continued".into(),
                Change::Adopted => "adopted".into(),
                Change::Signalled { to, sig } => format!("signal {} to {to}", sig.name()),
                Change::Fact(fact) => format!("{fact:?}"),
            };
            self.log.push(format!("{} {} {what}", self.now, happened.role));
        }
        if self.now < cell.reads_from {
            return Ok(());
        }
        let out = self.streams.stdout.or(self.streams.tty);
        for (name, handle) in [("out", out), ("err", self.streams.stderr)] {
            let Some(handle) = handle else { continue };
            loop {
                let text = match self.kernel.read(handle, 65_536)? {
                    Read::Data(bytes) if bytes.len() > 200 => format!("{} bytes", bytes.len()),
                    Read::Data(bytes) => format!("{:?}", String::from_utf8_lossy(&bytes)),
                    Read::Later => break,
                    Read::Eof => "end".into(),
                    Read::Failed(errno) => format!("{errno:?}"),
                };
                let over = matches!(text.as_str(), "end" | "Io" | "BadFd");
                self.log.push(format!("{} {name} {text}", self.now));
                if over {
                    self.kernel.close(handle, false)?;
                    match name {
                        "err" => self.streams.stderr = None,
                        _ if self.streams.stdout.is_some() => self.streams.stdout = None,
                        _ => self.streams.tty = None,
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    fn find(&self, role: &str) -> Proc {
        self.kernel.find(role).unwrap()
    }

    fn act(&mut self, act: &Do) -> Result<(), InternalError> {
        match act {
            Do::Type(text) => {
                self.untaken.extend(text.as_bytes());
                self.flush()?;
            }
            Do::TypeMany(character, times) => {
                self.untaken.extend(character.to_string().repeat(*times).into_bytes());
                self.flush()?;
            }
            Do::Close => {
                let handle = self.streams.stdin.take().or_else(|| self.streams.tty.take()).unwrap();
                self.kernel.close(handle, false)?;
            }
            Do::Kill(role, group, sig) => {
                let to = self.find(role);
                self.kernel.kill(to, *group, *sig)?;
            }
            Do::Count(role) => {
                let of = self.find(role);
                let count = self.kernel.children(of)?;
                self.log.push(format!("{} {role} has {count}", self.now));
            }
        }
        Ok(())
    }
}
