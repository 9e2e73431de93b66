//! The children of a persona: their start, their end, and signals to them.
//!
//! Invariant: a child is announced with what it holds before the scheduler is heard again; a signal is sent once the
//! scheduler knows of it.

use super::{Kid, RealOs, Stop};
use crate::alone::journal::{self, PLACE_ENV};
use crate::exec;
use crate::linux::fork::{self, Parent};
use crate::linux::process::give_up;
use crate::linux::spawn::{self, Order, Stream};
use crate::linux::{descriptor, named, signals};
use crate::lockstep::protocol::{Channel, Ended, Key, Place, Said, To, Told};
use crate::os::{Child, Errno, Exit, Group, Sig, Spawn, Target};
use rehang_processes::machine;
use rehang_scenario::plan::PLAN_ENV;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use std::os::fd::AsRawFd;

impl RealOs {
    pub(super) fn start(&mut self, spawn: Spawn) -> Result<Child, Errno> {
        let plan = spawn.env.iter().find(|(key, _)| key == PLAN_ENV);
        let plan = plan.and_then(|(_, json)| serde_json::from_str(json).ok());
        let mut env = spawn.env;
        let number = self.kids.len() + 1;
        env.extend(self.journal.as_ref().map(|j| (PLACE_ENV.to_owned(), format!("{}.{number}", j.place))));
        (self.programs)(&spawn.argv, plan.as_ref()).map_err(|_| Errno::NoProcess)?;
        if !exec::fits(&spawn.argv, &env) {
            return Err(Errno::TooBig);
        }
        let streams = [spawn.stdin, spawn.stdout, spawn.stderr].map(|stdio| self.stream(stdio));
        let holds = (0..).zip(&streams).filter_map(|(fd, (stream, key))| match stream {
            Stream::Null => Some((fd, Key::Other)),
            _ => key.map(|key| (fd, key)),
        });
        let holds = holds.collect();
        let closed = (0..3).filter(|&n| matches!(streams[n as usize].0, Stream::Closed)).collect();
        let control = match &self.scheduler {
            None => None,
            Some(scheduler) => {
                let pair = Channel::pair();
                let (ours, theirs) =
                    pair.map_err(|error| self.unmeant("making a control socket", error, machine::open))?;
                Some((ours, theirs, scheduler.lifeline.as_raw_fd(), scheduler.part))
            }
        };
        let (group, place) = match spawn.group {
            Group::Inherit => (spawn::Group::Inherit, Place::Inherit),
            Group::New => (spawn::Group::Group, Place::Group),
            Group::Session => (spawn::Group::Session, Place::Session),
        };
        let order = Order {
            exe: &self.exe,
            argv: &spawn.argv,
            env: &env,
            streams: streams.map(|(stream, _)| stream),
            group,
            terminal: None,
            control: control.as_ref().map(|(_, theirs, lifeline, _)| (theirs.as_raw_fd(), *lifeline)),
            ignored: self.signals.ignored(),
        };
        let (pid, ours) = match control {
            Some((mut channel, theirs, _, part)) if named::can_fork() => {
                let pid = fork::fork(&order, Parent::Own, self.programs, part);
                drop(theirs);
                (pid.and_then(|pid| fork::joined(&mut channel).map(|()| pid)), Some(channel))
            }
            control => (spawn::spawn(&order), control.map(|(channel, ..)| channel)),
        };
        let pid = match pid {
            Ok(pid) => pid,
            // a fake alone may have been told nonsense; a machine that is at its limit is none
            Err(error) if self.scheduler.is_none() && machine::remedy_of_start(&error).is_none() => {
                return Err(Errno::NoProcess);
            }
            Err(error) => {
                let name = spawn.argv.first().map_or("", String::as_str);
                give_up(&format!("starting {name}: {}", machine::start(&error)))
            }
        };
        let kid = Pid::from_raw(pid).ok_or(Errno::NoProcess)?;
        let pidfd = match &ours {
            Some(_) => None,
            None => rustix::process::pidfd_open(kid, rustix::process::PidfdFlags::empty()).ok(),
        };
        self.kids.push(Kid { pid: kid, reaped: false, pidfd });
        if let Some(ours) = ours {
            self.say_moved();
            self.say(Said::Spawned { pid, argv: spawn.argv, place, closed, holds });
            self.send(Some(&ours.into_socket()));
        }
        Ok(Child(u32::try_from(self.kids.len()).unwrap_or(u32::MAX)))
    }

    pub(super) fn reap(&mut self, child: Child) -> Option<Exit> {
        let kid = self.kid(child).filter(|kid| !kid.reaped)?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(kid.pid), options)).ok()??;
        let exit = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code as u8),
            (_, Some(number)) => Exit::Signal(Sig::from_number(number).unwrap_or(Sig::Kill)),
            _ => return None,
        };
        if let Some(kid) = self.kids.get_mut(child.0 as usize - 1) {
            kid.reaped = true;
            kid.pidfd = None;
        }
        if let (Some(journal), Exit::Signal(sig)) = (&self.journal, exit) {
            // a process that is killed cannot say so itself
            journal.write(journal::Said::Killed { child: child.0, sig: sig.name().to_owned() });
        }
        self.say(Said::Reaped(child.0, Ended::from(exit)));
        Some(exit)
    }

    pub(super) fn signal(&mut self, target: Target, sig: Sig) -> Result<(), Errno> {
        let pid_of = |child| self.kid(child).map(|kid| (kid.pid.as_raw_nonzero().get(), kid.reaped));
        let (to, pid) = match target {
            Target::Child(child) => match pid_of(child) {
                Some((pid, false)) => (To::Child(child.0), pid),
                _ => return Err(Errno::NoProcess),
            },
            Target::ChildGroup(child) => (To::ChildGroup(child.0), -pid_of(child).ok_or(Errno::NoProcess)?.0),
            Target::Itself => (To::Itself, std::process::id().cast_signed()),
            Target::OwnGroup => (To::OwnGroup, 0),
        };
        if let Some(journal) = &self.journal {
            let child = match target {
                Target::Child(child) | Target::ChildGroup(child) => Some(child.0),
                Target::Itself | Target::OwnGroup => None,
            };
            journal.write(journal::Said::Signals { child });
        }
        if self.ask(Said::Kill(to, signals::number(sig))) == Told::AtEnd {
            self.at_end = Some(Stop::Kill(pid, sig));
            return Ok(());
        }
        let sent = signals::send(pid, sig);
        // it may have hit this process, or have ended who writes what this one reads
        self.may_be_signalled = true;
        self.input.retain(|input| !matches!(input.key, Key::PipeRead(_)));
        let error = sent.as_ref().err().and_then(std::io::Error::raw_os_error).unwrap_or(0);
        self.ask(Said::Did(error));
        match error {
            0 => Ok(()),
            error => Err(descriptor::errno(rustix::io::Errno::from_raw_os_error(error))),
        }
    }
}
