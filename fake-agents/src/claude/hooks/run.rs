//! A hook's command: a child that is told what happened on its stdin, and read to its end.
//!
//! Invariant: its stdin is closed after what it is told; a command that is over its limit is ended by SIGTERM and waited
//! for no longer.

use super::settings::Command;
use super::verdict::HookEnd;
use crate::outgoing::Outgoing;
use crate::piped::{self, Piped, drain, exit_code};
use rehang_os::os::{Child, Exit, Fd, Group, Os, Sig, Target, Wait};
use rehang_scenario::plan::PLAN_ENV;
use rehang_scenario::turns::{ChildStdin, WaitsFor};
use rehang_scenario::{Canon, VTime};

/// A running hook.
#[derive(Debug)]
pub(in crate::claude) struct HookRun {
    /// Its id in the engine.
    pub id: u32,
    child: Child,
    stdin: Option<Fd>,
    told: Outgoing,
    stdout: (Option<Fd>, Vec<u8>),
    stderr: (Option<Fd>, Vec<u8>),
    exit: Option<Exit>,
    until: VTime,
    waits_for: WaitsFor,
}

impl HookRun {
    /// Starts a hook; an error says how it ended at once.
    pub fn start(
        os: &mut dyn Os,
        (id, command): (u32, &Command),
        told: &str,
        until: VTime,
        waits_for: WaitsFor,
    ) -> Result<HookRun, HookEnd> {
        let mut env = os.envs();
        env.retain(|(key, _)| key != PLAN_ENV);
        let argv = crate::tool::argv(&command.steps, &command.shown);
        match piped::spawn_argv(os, argv, ChildStdin::Pipe, env, Group::Inherit) {
            Ok(Piped { child, stdin, stdout, stderr }) => {
                let mut said = Outgoing::default();
                said.push(told);
                let (stdout, stderr) = ((Some(stdout), Vec::new()), (Some(stderr), Vec::new()));
                Ok(HookRun { id, child, stdin, told: said, stdout, stderr, exit: None, until, waits_for })
            }
            Err(errno) => Err(HookEnd { code: 126, stderr: format!("{errno:?}"), ..HookEnd::default() }),
        }
    }

    /// Writes, reads, reaps and checks the limit; returns the end, once it has come.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<HookEnd> {
        if let Some(fd) = self.stdin
            && self.told.flush(os, fd)
        {
            os.close(fd);
            self.stdin = None;
        }
        // The exit is read first: what the child wrote before it is in the pipes by then.
        if self.exit.is_none() {
            self.exit = os.try_wait(self.child);
        }
        for (fd, kept) in [&mut self.stdout, &mut self.stderr] {
            drain(os, fd, |bytes| kept.extend_from_slice(bytes));
        }
        let at_end = self.stdout.0.is_none() && self.stderr.0.is_none();
        if self.exit.is_some() && (self.waits_for == WaitsFor::Exit || at_end) {
            return Some(self.end(os, false));
        }
        (self.until <= os.now()).then(|| self.kill(os))
    }

    /// Ends it, and waits for its end no longer.
    pub fn kill(&mut self, os: &mut dyn Os) -> HookEnd {
        // It has ended already: there is no process to signal.
        let _ = os.kill(Target::Child(self.child), Sig::Term);
        self.exit = self.exit.or_else(|| os.try_wait(self.child));
        self.end(os, true)
    }

    /// The child, if it has not been reaped: one that ignores SIGTERM.
    pub fn stray(&self) -> Option<Child> {
        self.exit.is_none().then_some(self.child)
    }

    /// Adds what it waits for.
    pub fn wait(&self, wait: &mut Wait) {
        wait.read.extend([self.stdout.0, self.stderr.0].into_iter().flatten());
        wait.write.extend(self.stdin);
        wait.child |= self.exit.is_none();
        wait.until = wait.until.into_iter().chain([self.until]).min();
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self { id, child, stdin, told, stdout, stderr, exit, until, waits_for } = self;
        canon.num((*id).into()).num(child.0.into()).flag(stdin.is_some()).deadline(Some(*until));
        told.canon(canon);
        for (fd, kept) in [stdout, stderr] {
            canon.flag(fd.is_some()).bytes(kept);
        }
        canon.value(&(exit, waits_for));
    }

    fn end(&mut self, os: &mut dyn Os, cancelled: bool) -> HookEnd {
        for fd in [self.stdin.take(), self.stdout.0.take(), self.stderr.0.take()].into_iter().flatten() {
            os.close(fd);
        }
        let text = |kept: &[u8]| String::from_utf8_lossy(kept).into_owned();
        HookEnd {
            code: if cancelled { 1 } else { self.exit.map_or(0, exit_code) },
            stdout: text(&self.stdout.1),
            stderr: text(&self.stderr.1),
            cancelled,
        }
    }
}
