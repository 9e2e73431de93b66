//! The processes of bash tools: started, read, timed out, ended and reaped.
//!
//! Invariants: a tool is over when what it waits for is over, and not before; its end is reported once; killed
//! processes are also reaped.

use super::engine::Engine;
use super::release::BASH_TIMEOUT_SLACK_MS;
use super::tools::BashEnd;
use crate::piped::{self, Piped, READ_BYTES};
use rehang_os::os::{Child, Exit, Fd, Group, Os, Read, Sig, Target, Wait};
use rehang_scenario::{
    Canon, Span, VTime,
    turns::{Bash, ChildStdin, Kills, WaitsFor},
};

/// The children of one agent, with their pipes.
#[derive(Default)]
pub struct Children {
    running: Vec<Running>,
}

struct Running {
    tool: u32,
    child: Child,
    /// stdout and stderr, while they are open; bytes of a character that is not whole.
    pipes: [Option<Fd>; 2],
    carry: [Vec<u8>; 2],
    /// The write end of a stdin that nobody writes to.
    held: Option<Fd>,
    exited: Option<Exit>,
    waits_for: WaitsFor,
    kills: Kills,
    own_group: bool,
    limit_ms: u64,
    sigkill: Span,
    term_at: Option<VTime>,
    kill_at: Option<VTime>,
    timed_out: bool,
    /// Whether its end is not waited for any more.
    given_up: bool,
}

impl Children {
    /// Starts a bash tool's process.
    pub fn spawn(&mut self, os: &mut dyn Os, engine: &mut Engine, tool: u32, bash: &Bash, env: Vec<(String, String)>) {
        let how = &bash.tool;
        let group = piped::session_of_its_own(bash);
        let Ok(Piped { child, stdin, stdout, stderr }) = piped::spawn(os, bash, ChildStdin::Null, env, group) else {
            engine.bash_over(os.now(), tool, BashEnd::NotStarted);
            return;
        };
        let limit_ms = Engine::bash_limit_ms(bash);
        self.running.push(Running {
            tool,
            child,
            pipes: [Some(stdout), Some(stderr)],
            carry: [Vec::new(), Vec::new()],
            held: stdin,
            exited: None,
            waits_for: how.waits_for.unwrap_or(WaitsFor::Pipes),
            kills: how.kills.unwrap_or(Kills::GroupThenKill),
            own_group: group != Group::Inherit,
            limit_ms,
            sigkill: engine.release.sigkill,
            term_at: Some(os.now() + Span(limit_ms.saturating_add(BASH_TIMEOUT_SLACK_MS))),
            kill_at: None,
            timed_out: false,
            given_up: false,
        });
    }

    /// Ends a tool's process tree, whose end is not reported any more.
    pub fn kill(&mut self, os: &mut dyn Os, tool: u32) {
        if let Some(running) = self.running.iter_mut().find(|running| running.tool == tool) {
            running.given_up = true;
            running.term(os);
            running.close(os);
        }
    }

    /// Handles one event of a child; returns whether there was one.
    pub fn poll(&mut self, os: &mut dyn Os, engine: &mut Engine) -> bool {
        for at in 0..self.running.len() {
            let running = &mut self.running[at];
            if let Some(text) = running.read(os) {
                if !running.given_up && !text.is_empty() {
                    let tool = running.tool;
                    engine.bash_output(os.now(), tool, &text);
                }
                return true;
            }
            if running.exited.is_none() {
                running.exited = os.try_wait(running.child);
            }
            if running.over() {
                let mut running = self.running.remove(at);
                running.close(os);
                if !running.given_up {
                    engine.bash_over(os.now(), running.tool, running.end());
                }
                return true;
            }
        }
        false
    }

    /// Handles time limits, and second signals after the first, up to an instant; returns whether any was due.
    pub fn clock(&mut self, os: &mut dyn Os, due_by: VTime) -> bool {
        self.running.iter_mut().any(|running| running.clock(os, due_by))
    }

    /// Adds what the children wait for.
    pub fn wait(&self, wait: &mut Wait) {
        for running in &self.running {
            wait.read.extend(running.pipes.iter().flatten());
            wait.child |= running.exited.is_none();
        }
    }

    /// The earliest deadline of all children.
    pub fn deadline(&self) -> Option<VTime> {
        self.running.iter().flat_map(|running| [running.term_at, running.kill_at]).flatten().min()
    }

    /// Writes the state; a tool is written as its place, since each retry makes a new one.
    pub fn canon(&self, place: impl Fn(u32) -> u64, canon: &mut Canon) {
        let Self { running } = self;
        canon.list(running, |canon, running| {
            let Running {
                tool,
                child: _, // not compared: children are listed in the order of their starts, as in the world
                pipes,
                carry,
                held,
                exited,
                waits_for,
                kills,
                own_group,
                limit_ms,
                sigkill: _, // not compared: it is the release's
                term_at,
                kill_at,
                timed_out,
                given_up,
            } = running;
            canon.num(place(*tool)).flag(*given_up).flag(*timed_out).flag(*own_group).flag(held.is_some());
            canon.flag(pipes[0].is_some()).flag(pipes[1].is_some()).bytes(&carry[0]).bytes(&carry[1]);
            canon.num(*limit_ms).deadline(*term_at).deadline(*kill_at);
            canon.value(&(exited, waits_for, kills));
        });
    }
}

impl Running {
    /// Its time limit, and the time of the second signal after the first.
    fn clock(&mut self, os: &mut dyn Os, due_by: VTime) -> bool {
        let due = |at: Option<VTime>| at.is_some_and(|at| at <= due_by);
        if due(self.term_at) {
            self.timed_out = true;
            self.term(os);
            return true;
        }
        if due(self.kill_at) {
            self.kill_at = None;
            self.signal(os, Sig::Kill);
            return true;
        }
        false
    }

    fn term(&mut self, os: &mut dyn Os) {
        self.term_at = None;
        self.signal(os, Sig::Term);
        if self.kills == Kills::GroupThenKill {
            self.kill_at = Some(os.now() + self.sigkill);
        }
    }

    fn signal(&mut self, os: &mut dyn Os, sig: Sig) {
        let group = self.kills != Kills::Child && self.own_group;
        if group || self.exited.is_none() {
            let target = if group { Target::ChildGroup(self.child) } else { Target::Child(self.child) };
            let _ = os.kill(target, sig);
        }
    }

    /// What one of its pipes gave: text, which is empty at the end of a pipe; `None` if no pipe has anything now.
    fn read(&mut self, os: &mut dyn Os) -> Option<String> {
        for at in 0..2 {
            let Some(fd) = self.pipes[at] else { continue };
            match os.read(fd, READ_BYTES) {
                Read::Data(bytes) => {
                    let carry = &mut self.carry[at];
                    carry.extend_from_slice(&bytes);
                    let whole = match std::str::from_utf8(carry) {
                        Err(error) if error.error_len().is_none() => error.valid_up_to(),
                        _ => carry.len(),
                    };
                    let rest = carry.split_off(whole);
                    let text = String::from_utf8_lossy(carry).into_owned();
                    *carry = rest;
                    return Some(text);
                }
                Read::Eof | Read::Failed(_) => {
                    os.close(fd);
                    self.pipes[at] = None;
                    return Some(String::new());
                }
                Read::Later => {}
            }
        }
        None
    }

    fn over(&self) -> bool {
        let drained = self.pipes == [None, None];
        self.exited.is_some() && (drained || self.waits_for == WaitsFor::Exit) && (self.kill_at.is_none() || drained)
    }

    fn end(&self) -> BashEnd {
        match self.exited {
            _ if self.timed_out => BashEnd::TimedOut(self.limit_ms),
            Some(Exit::Code(code)) => BashEnd::Exit(Some(code)),
            _ => BashEnd::Exit(None),
        }
    }

    fn close(&mut self, os: &mut dyn Os) {
        for fd in self.pipes.iter_mut().chain([&mut self.held]) {
            if let Some(fd) = fd.take() {
                os.close(fd);
            }
        }
    }
}
