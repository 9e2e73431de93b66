//! The child of a command: how it is connected, waited for and ended.
//!
//! Invariant: a command is reported once as ended; with [`Shell::Yields`] at most once before that as running on.

use super::release::{OUTPUT_MAX_BYTES, Release, SHELL_LIMIT, Shell, TIMED_OUT, TRAILING, YIELD};
use crate::piped::{Piped, drain, exit_code, spawn};
use rehang_os::os::{Child, Exit, Fd, Group, Os, Sig, Target, Wait};
use rehang_scenario::{
    Canon, Span, VTime,
    plan::PLAN_ENV,
    turns::{Bash, ChildStdin, Kills, WaitsFor},
};

/// A running command.
#[derive(Debug)]
pub(super) struct Running {
    pub call: String,
    /// Its command line, as the release runs it.
    pub command: String,
    child: Child,
    stdin: Option<Fd>,
    /// The ends of its stdout and stderr, while they are open.
    pipes: [Option<Fd>; 2],
    output: Vec<u8>,
    /// How much of it a client was shown, or never will be.
    shown: usize,
    /// How much of it came before a client was told that the command runs.
    early: usize,
    began: VTime,
    exit: Option<Exit>,
    /// When its time is up: it is killed, or the model is told that it runs on.
    until: Option<VTime>,
    /// After its end: how long its pipes are still read, the first one first.
    drains: Option<VTime>,
    drained_first: bool,
    timed_out: bool,
    grouped: bool,
    shell: Shell,
    waits_for: Option<WaitsFor>,
}

/// What is known of a command now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    /// Its exit code; `None` if it runs on.
    pub code: Option<i32>,
    /// What it has printed.
    pub output: String,
    /// How many bytes of that came before a client was told that it runs.
    pub early: usize,
    /// Whether its time limit has passed.
    pub timed_out: bool,
    /// How long it has run.
    pub took: Span,
}

/// Starts a command; an error says how it ended at once.
pub(super) fn start(os: &mut dyn Os, release: &Release, call: &str, bash: &Bash) -> Result<Running, Report> {
    let tool = &bash.tool;
    let group = match (tool.background_group, tool.new_session, release.shell) {
        (true, ..) => Group::New,
        (_, Some(true), _) | (_, None, Shell::Yields) => Group::Session,
        // 0.45.0 ends the child alone; 0.58.0 gives it a group to end (openai/codex#5258).
        (_, None, Shell::Waits(Some(_))) => Group::New,
        _ => Group::Inherit,
    };
    let mut env = os.envs();
    env.retain(|(key, _)| key != PLAN_ENV);
    match spawn(os, bash, ChildStdin::Null, env, group) {
        Ok(Piped { child, stdin, stdout, stderr }) => Ok(Running {
            call: call.to_owned(),
            command: release.in_shell(&bash.command),
            child,
            stdin,
            pipes: [Some(stdout), Some(stderr)],
            output: Vec::new(),
            shown: 0,
            early: 0,
            began: os.now(),
            exit: None,
            until: Some(os.now() + limit(release.shell, bash.timeout)),
            drains: None,
            drained_first: false,
            timed_out: false,
            grouped: group != Group::Inherit && tool.kills != Some(Kills::Child),
            shell: release.shell,
            waits_for: tool.waits_for,
        }),
        Err(errno) => {
            let output = format!("execution error: Io({errno:?})");
            Err(Report { code: Some(-1), output, early: 0, timed_out: false, took: Span::ZERO })
        }
    }
}

/// When a command's time is up. `exec_command` has no limit that ends it.
fn limit(shell: Shell, asked: Option<Span>) -> Span {
    match shell {
        Shell::Waits(_) => asked.unwrap_or(SHELL_LIMIT),
        Shell::Yields => YIELD,
    }
}

impl Running {
    /// Reads, reaps and checks its limits; returns what there is to report, if anything is.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<Report> {
        self.read(os);
        if self.over(os.now()) {
            return Some(self.end(os));
        }
        // A command that ends in the tick of its limit ends in time.
        if self.exit.is_none() && self.until.is_some_and(|at| at <= os.now()) {
            self.until = None;
            if self.shell == Shell::Yields {
                return Some(self.report(os.now()));
            }
            self.timed_out = true;
            self.signal(os, Sig::Kill);
            self.read(os);
            return self.over(os.now()).then(|| self.end(os));
        }
        None
    }

    /// What it has printed since the last call, if a client is shown it: what comes before this span is not.
    pub fn fresh(&mut self, os: &mut dyn Os, after: Span) -> Option<String> {
        self.read(os);
        let fresh = String::from_utf8_lossy(&self.output[self.shown..]).into_owned();
        self.shown = self.output.len();
        if self.took(os.now()) < after {
            self.early = self.shown;
            return None;
        }
        Some(fresh).filter(|fresh| !fresh.is_empty())
    }

    /// How long it has run.
    pub fn took(&self, now: VTime) -> Span {
        now.since(self.began)
    }

    /// Ends it at once, and does not wait for processes that hold its pipes.
    pub fn kill(mut self, os: &mut dyn Os, sig: Sig) -> Report {
        if self.exit.is_none() {
            self.signal(os, sig);
        }
        self.read(os);
        self.end(os)
    }

    /// Adds what it waits for.
    pub fn wait(&self, wait: &mut Wait) {
        wait.read.extend(self.pipes.iter().flatten());
        wait.child |= self.exit.is_none();
        let until = if self.exit.is_some() { self.drains } else { self.until };
        wait.until = wait.until.into_iter().chain(until).min();
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            call,
            command,
            child,
            stdin,
            pipes,
            output,
            shown,
            early,
            began: _, // not compared: it is read at the command's end alone, and no cycle holds the end of a call
            exit,
            until,
            drains,
            drained_first,
            timed_out,
            grouped,
            shell,
            waits_for,
        } = self;
        canon.text(call).text(command).num(child.0.into()).flag(stdin.is_some()).bytes(output);
        canon.num(*shown as u64).num(*early as u64);
        canon.flag(pipes[0].is_some()).flag(pipes[1].is_some()).deadline(*until).deadline(*drains);
        canon.flag(*drained_first).flag(*timed_out).flag(*grouped).value(&(exit, shell, waits_for));
    }

    /// Whether nothing more is waited for.
    fn over(&mut self, now: VTime) -> bool {
        if self.exit.is_none() {
            return false;
        }
        match (self.waits_for, self.shell) {
            _ if self.pipes == [None, None] => true,
            (Some(WaitsFor::Exit), _) => true,
            (Some(WaitsFor::Pipes), _) | (None, Shell::Waits(None)) => false,
            (None, Shell::Yields) => *self.drains.get_or_insert(now + TRAILING) <= now,
            (None, Shell::Waits(Some(each))) => {
                let first = *self.drains.get_or_insert(now + each);
                if !self.drained_first && (self.pipes[0].is_none() || first <= now) {
                    self.drained_first = true;
                    self.drains = Some(now + each);
                }
                let second_is_over = self.pipes[1].is_none() || self.drains.is_some_and(|at| at <= now);
                self.drained_first && second_is_over
            }
        }
    }

    fn signal(&self, os: &mut dyn Os, sig: Sig) {
        let target = if self.grouped { Target::ChildGroup(self.child) } else { Target::Child(self.child) };
        // It has ended already: there is no process to signal.
        let _ = os.kill(target, sig);
    }

    fn read(&mut self, os: &mut dyn Os) {
        // The exit is read first: what the child wrote before it is in the pipes by then.
        if self.exit.is_none() {
            self.exit = os.try_wait(self.child);
        }
        for pipe in &mut self.pipes {
            drain(os, pipe, |bytes| {
                let room = OUTPUT_MAX_BYTES.saturating_sub(self.output.len());
                self.output.extend_from_slice(&bytes[..room.min(bytes.len())]);
            });
        }
    }

    fn end(&mut self, os: &mut dyn Os) -> Report {
        for fd in [self.stdin.take(), self.pipes[0].take(), self.pipes[1].take()].into_iter().flatten() {
            os.close(fd);
        }
        let mut report = self.report(os.now());
        let code = self.exit.map_or(-1, |exit| exit_code(exit).into());
        report.code = Some(if self.timed_out { TIMED_OUT } else { code });
        report
    }

    fn report(&self, now: VTime) -> Report {
        let output = String::from_utf8_lossy(&self.output).into_owned();
        let early = self.early.min(output.len());
        Report { code: None, output, early, timed_out: self.timed_out, took: now.since(self.began) }
    }
}
