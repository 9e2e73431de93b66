//! The bash tool's child: how it is connected, waited for and ended.
//!
//! Invariant: a call ends when its child is reaped and, if it waits for pipes, both are at their end; so a pipe that
//! another process holds keeps the call open, whatever was killed.

use super::calls::BashEnd;
use super::release::{BASH_LIMIT, BASH_LIMIT_MAX, BASH_OUTPUT_MAX, KILL_GRACE, Release};
use crate::piped::{self, Piped, drain, exit_code};
use rehang_os::os::{Child, Exit, Fd, Group, Os, Sig, Target, Wait};
use rehang_scenario::{
    Canon, Span, VTime,
    plan::PLAN_ENV,
    turns::{Bash, ChildStdin, Kills, WaitsFor},
};

/// A running command of the bash tool.
#[derive(Debug)]
pub(super) struct Running {
    pub call: String,
    child: Child,
    stdin: Option<Fd>,
    stdout: Pipe,
    stderr: Pipe,
    exit: Option<Exit>,
    limit_ms: u64,
    until: Option<VTime>,
    timed_out: bool,
    /// Whether its limit moves it to the background; and whether that has come.
    moves: bool,
    moved: bool,
    /// How long it may run there.
    background_limit: Option<Span>,
    grouped: bool,
    waits_for: WaitsFor,
    kills: Kills,
}

/// One of its pipes, and what came out of it so far.
#[derive(Debug)]
struct Pipe {
    fd: Option<Fd>,
    kept: Vec<u8>,
    /// How many lines were dropped because there were too many.
    dropped: usize,
}

/// Starts a command; an error says how it ended at once.
pub(super) fn start(
    os: &mut dyn Os,
    call: &str,
    bash: &Bash,
    stripped: &[&str],
    release: Release,
    plan: Option<(String, String)>,
) -> Result<Running, BashEnd> {
    let (tool, group) = (&bash.tool, piped::session_of_its_own(bash));
    let mut env = os.envs();
    env.retain(|(key, _)| key != PLAN_ENV && !stripped.contains(&key.as_str()));
    for (key, value) in CHILD_ENV {
        env.retain(|(k, _)| k != key);
        env.push((key.to_owned(), value.to_owned()));
    }
    env.extend(plan);
    let started = piped::spawn(os, bash, ChildStdin::Null, env, group);
    let limit = limit(os, release, bash.timeout);
    match started {
        Ok(Piped { child, stdin, stdout, stderr }) => Ok(Running {
            call: call.to_owned(),
            child,
            stdin,
            stdout: Pipe::new(stdout),
            stderr: Pipe::new(stderr),
            exit: None,
            limit_ms: limit.as_ms(),
            until: Some(os.now() + limit),
            timed_out: false,
            // a scenario that says how its tool is ended means a tool that ends it
            moves: release.moves_commands() && tool.kills.is_none(),
            moved: false,
            background_limit: release.background_limit(),
            grouped: group != Group::Inherit,
            waits_for: tool.waits_for.unwrap_or(release.waits_for()),
            kills: tool.kills.unwrap_or(Kills::GroupThenKill),
        }),
        Err(errno) => Err(BashEnd { code: 126, stderr: format!("spawn failed: {errno:?}"), ..BashEnd::default() }),
    }
}

/// What a child of Claude Code finds in its environment (read; 2.0.77).
const CHILD_ENV: [(&str, &str); 3] =
    [("CLAUDECODE", "1"), ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("GIT_EDITOR", "true")];

fn limit(os: &dyn Os, release: Release, asked: Option<Span>) -> Span {
    let from_env = |key| os.env(key).and_then(|ms| ms.parse().ok()).map(Span);
    let usual = from_env("BASH_DEFAULT_TIMEOUT_MS").unwrap_or(BASH_LIMIT);
    let most = from_env("BASH_MAX_TIMEOUT_MS").unwrap_or(BASH_LIMIT_MAX).max(usual);
    match asked {
        // recorded for 1.0.128 and 2.0.77: what the model asks for is not cut
        Some(asked) if !release.cuts_bash_limit() => asked,
        asked => asked.unwrap_or(usual).min(most),
    }
}

impl Running {
    /// Reads, reaps and checks the time limit; returns the end, once it has come.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<BashEnd> {
        self.read(os);
        // A command that ends in the tick of its limit ends in time.
        if !self.over() && self.until.is_some_and(|at| at <= os.now()) {
            if self.moves {
                (self.moved, self.moves) = (true, false);
                self.until = self.background_limit.map(|limit| os.now() + limit);
                let (stdout, limit) = (self.stdout.text(), Some(self.limit_ms));
                let moved = Some(stdout.lines().count());
                return Some(BashEnd { moved, stdout, timed_out_ms: limit, ..BashEnd::default() });
            }
            self.time_is_up(os);
            self.read(os);
        }
        self.over().then(|| self.end(os, false))
    }

    /// Whether it runs on in the background: its call has ended.
    pub fn is_moved(&self) -> bool {
        self.moved
    }

    fn over(&self) -> bool {
        let at_end = self.stdout.fd.is_none() && self.stderr.fd.is_none();
        self.exit.is_some() && (self.waits_for == WaitsFor::Exit || at_end)
    }

    /// Ends it at once, and does not wait for processes that hold its pipes.
    pub fn kill(&mut self, os: &mut dyn Os) -> BashEnd {
        self.signal(os, Sig::Kill, self.grouped && self.kills != Kills::Child);
        self.read(os);
        let mut end = self.end(os, true);
        if self.exit.is_none() {
            end.code = exit_code(Exit::Signal(Sig::Kill)).into();
        }
        end
    }

    /// Adds what it waits for.
    pub fn wait(&self, wait: &mut Wait) {
        wait.read.extend([self.stdout.fd, self.stderr.fd].into_iter().flatten());
        wait.child |= self.exit.is_none();
        wait.until = wait.until.into_iter().chain(self.until).min();
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            call,
            child,
            stdin,
            stdout,
            stderr,
            exit,
            limit_ms,
            until,
            timed_out,
            moves: _, // not compared: it is the release's and the scenario's
            moved,
            background_limit: _, // not compared: it is the release's
            grouped,
            waits_for,
            kills,
        } = self;
        canon.flag(*moved);
        canon.text(call).num(child.0.into()).flag(stdin.is_some()).flag(*timed_out).flag(*grouped);
        canon.deadline(*until).num(*limit_ms).value(&(exit, waits_for, kills));
        for pipe in [stdout, stderr] {
            let Pipe {
                fd,
                kept,
                dropped: _, // not compared: it is read only at the command's end, and no cycle holds the end of a call
            } = pipe;
            canon.flag(fd.is_some()).bytes(kept);
        }
    }

    fn time_is_up(&mut self, os: &mut dyn Os) {
        let group = self.grouped && self.kills != Kills::Child;
        if self.timed_out {
            self.signal(os, Sig::Kill, group);
            self.until = None;
            return;
        }
        self.timed_out = true;
        self.signal(os, Sig::Term, group);
        self.until = (self.kills == Kills::GroupThenKill).then(|| os.now() + KILL_GRACE);
    }

    fn signal(&self, os: &mut dyn Os, sig: Sig, group: bool) {
        let target = if group { Target::ChildGroup(self.child) } else { Target::Child(self.child) };
        // It has ended already: there is no process to signal.
        let _ = os.kill(target, sig);
    }

    fn read(&mut self, os: &mut dyn Os) {
        // The exit is read first: what the child wrote before it is in the pipes by then.
        if self.exit.is_none() {
            self.exit = os.try_wait(self.child);
        }
        self.stdout.read(os);
        self.stderr.read(os);
    }

    fn end(&mut self, os: &mut dyn Os, interrupted: bool) -> BashEnd {
        for fd in [self.stdin.take(), self.stdout.fd.take(), self.stderr.fd.take()].into_iter().flatten() {
            os.close(fd);
        }
        BashEnd {
            code: self.exit.map_or(0, |exit| exit_code(exit).into()),
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            timed_out_ms: self.timed_out.then_some(self.limit_ms),
            moved: None,
            interrupted,
        }
    }
}

impl Pipe {
    fn new(fd: Fd) -> Pipe {
        Pipe { fd: Some(fd), kept: Vec::new(), dropped: 0 }
    }

    fn read(&mut self, os: &mut dyn Os) {
        let mut fd = self.fd;
        drain(os, &mut fd, |bytes| self.take(bytes));
        self.fd = fd;
    }

    fn take(&mut self, bytes: &[u8]) {
        // A character has at most four bytes.
        let room = (BASH_OUTPUT_MAX * 4).saturating_sub(self.kept.len());
        let (kept, rest) = bytes.split_at(room.min(bytes.len()));
        self.kept.extend_from_slice(kept);
        self.dropped += rest.iter().filter(|&&b| b == b'\n').count();
    }

    /// The output as the model is shown it: without blank lines before and white space after it, cut after the limit.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let text = text.trim_end().trim_start_matches(['\n', '\r']);
        let Some((cut, _)) = text.char_indices().nth(BASH_OUTPUT_MAX) else { return text.to_owned() };
        let lines = text[cut..].lines().count() + self.dropped;
        format!("{}\n\n... [{lines} lines truncated] ...", &text[..cut])
    }
}
