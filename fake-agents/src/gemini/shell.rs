//! `run_shell_command`: how its child is connected, waited for and ended.
//!
//! Invariant: a call ends when its child is reaped and, if the release waits for pipes, both are at their end; so a pipe
//! that another process holds keeps such a call open, whatever was killed.

use super::release::{KILL_GRACE, Release};
use crate::piped::{self, Piped, drain};
use rehang_os::os::{Child, Exit, Fd, Group, Os, Sig, Target, Wait};
use rehang_scenario::{
    Canon, Span, VTime,
    plan::PLAN_ENV,
    turns::{Bash, Kills, Step, WaitsFor},
};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ShellEnd {
    /// What it printed.
    pub output: String,
    /// Its exit code, if it exited.
    pub code: Option<u8>,
    /// The signal that ended it.
    pub signal: Option<u8>,
    /// It could not be started: why.
    pub error: Option<String>,
    /// It printed nothing for this long, and was ended.
    pub silent_for: Option<Span>,
    /// A process that it left in its group.
    pub left: bool,
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub call: String,
    child: Child,
    /// The end of its stdin that nobody writes to.
    stdin: Option<Fd>,
    pipes: [Option<Fd>; 2],
    printed: Vec<u8>,
    exit: Option<Exit>,
    inactivity: Option<Span>,
    until: Option<VTime>,
    ended: bool,
    grouped: bool,
    waits_for: WaitsFor,
    kills: Kills,
    leaves: bool,
}

/// What a child of Gemini CLI finds in its environment (shellExecutionService.js).
const CHILD_ENV: [(&str, &str); 4] =
    [("GEMINI_CLI", "1"), ("TERM", "xterm-256color"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];
/// The most bytes of output that are kept. The limit is ours: the real one keeps 16 MiB.
const KEPT_MAX: usize = 1 << 20;

/// Starts a command; an error says how it ended at once.
pub(super) fn start(os: &mut dyn Os, release: &Release, call: &str, bash: &Bash) -> Result<Running, ShellEnd> {
    let (tool, group) = (&bash.tool, piped::session_of_its_own(bash));
    let mut env = os.envs();
    env.retain(|(key, _)| key != PLAN_ENV && !CHILD_ENV.iter().any(|(own, _)| own == key));
    env.extend(CHILD_ENV.map(|(key, value)| (key.to_owned(), value.to_owned())));
    match piped::spawn(os, bash, release.child_stdin, env, group) {
        Ok(Piped { child, stdin, stdout, stderr }) => Ok(Running {
            call: call.to_owned(),
            child,
            stdin,
            pipes: [Some(stdout), Some(stderr)],
            printed: Vec::new(),
            exit: None,
            inactivity: release.inactivity,
            until: release.inactivity.map(|limit| os.now() + limit),
            ended: false,
            grouped: group != Group::Inherit,
            waits_for: tool.waits_for.unwrap_or(release.waits_for),
            kills: tool.kills.unwrap_or(Kills::GroupThenKill),
            leaves: release.lists_left
                && bash.does.iter().any(|step| matches!(step, Step::Background(left) if !left.setsid)),
        }),
        Err(errno) => {
            Err(ShellEnd { error: Some(format!("spawn bash {errno:?}")), code: Some(1), ..ShellEnd::default() })
        }
    }
}

impl Running {
    /// Reads, reaps and checks the limit; returns the end, once it has come.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<ShellEnd> {
        // The exit is read first: what the child wrote before it is in the pipes by then.
        if self.exit.is_none() {
            self.exit = os.try_wait(self.child);
        }
        let printed = self.read(os);
        if printed && !self.ended {
            self.until = self.inactivity.map(|limit| os.now() + limit);
        }
        if !self.over() && self.until.is_some_and(|at| at <= os.now()) {
            self.time_is_up(os);
        }
        self.over().then(|| self.end(os))
    }

    /// Ends it at once, and does not wait for processes that hold its pipes.
    pub fn kill(&mut self, os: &mut dyn Os) {
        self.signal(os, Sig::Kill);
        self.end(os);
    }

    /// Its terminal is gone with the agent that held it.
    pub fn hang_up(&mut self, os: &mut dyn Os) {
        self.signal(os, Sig::Hup);
        self.end(os);
    }

    /// Adds what it waits for.
    pub fn wait(&self, wait: &mut Wait) {
        wait.read.extend(self.pipes.into_iter().flatten());
        wait.child |= self.exit.is_none();
        wait.until = wait.until.into_iter().chain(self.until).min();
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            call,
            child,
            stdin,
            pipes,
            printed,
            exit,
            inactivity: _, // not compared: it is the release's
            until,
            ended,
            grouped,
            waits_for,
            kills,
            leaves,
        } = self;
        canon.text(call).num(child.0.into()).flag(stdin.is_some()).flag(*ended).flag(*grouped).flag(*leaves);
        canon.deadline(*until).value(&(exit, waits_for, kills)).bytes(printed);
        canon.list(pipes, |canon, pipe| {
            canon.flag(pipe.is_some());
        });
    }

    fn over(&self) -> bool {
        self.exit.is_some() && (self.waits_for == WaitsFor::Exit || self.pipes == [None, None])
    }

    fn time_is_up(&mut self, os: &mut dyn Os) {
        if std::mem::replace(&mut self.ended, true) {
            self.signal(os, Sig::Kill);
            self.until = None;
            return;
        }
        self.signal(os, Sig::Term);
        self.until = (self.kills == Kills::GroupThenKill).then(|| os.now() + KILL_GRACE);
    }

    fn signal(&self, os: &mut dyn Os, sig: Sig) {
        let group = self.grouped && self.kills != Kills::Child;
        let target = if group { Target::ChildGroup(self.child) } else { Target::Child(self.child) };
        // It has ended already: there is no process to signal.
        let _ = os.kill(target, sig);
    }

    /// Returns whether something came.
    fn read(&mut self, os: &mut dyn Os) -> bool {
        let mut came = false;
        for pipe in &mut self.pipes {
            drain(os, pipe, |bytes| {
                came = true;
                let room = KEPT_MAX.saturating_sub(self.printed.len()).min(bytes.len());
                self.printed.extend_from_slice(&bytes[..room]);
            });
        }
        came
    }

    fn end(&mut self, os: &mut dyn Os) -> ShellEnd {
        for fd in self.pipes.iter_mut().chain([&mut self.stdin]).filter_map(Option::take) {
            os.close(fd);
        }
        ShellEnd {
            output: String::from_utf8_lossy(&self.printed).into_owned(),
            code: self.exit.and_then(|exit| if let Exit::Code(code) = exit { Some(code) } else { None }),
            signal: self.exit.and_then(|exit| if let Exit::Signal(sig) = exit { Some(sig.number()) } else { None }),
            error: None,
            silent_for: self.inactivity.filter(|_| self.ended),
            left: self.leaves,
        }
    }
}
