//! Starts a kernel and its agents, and clears them away.
//!
//! Invariant: after [`LockstepKernel::clear_away`] no process of a cell exists, and no descriptor of one is open; the lifeline
//! outlives every participant. The starter, which is of no cell, stays for the next kernel.

use super::address::Claim;
use super::children::{Shell, ended_within, pidfd_of, reap_here, shell_job};
use super::starter::{Starter, What, end};
use super::streams::Own;
use super::table::{Session, State};
use super::tty::Master;
use super::{LockstepKernel, Objects, WATCHDOG};
use crate::kernel::{InternalError, Launch, Left, Proc, Streams};
use crate::linux::descriptor;
use crate::linux::fork::joined;
use crate::linux::spawn::{Group, Order, Stream, spawn};
use crate::lockstep::protocol::{Channel, Job, JobError, Key, SHELL};
use rehang_processes::machine;
use rehang_scenario::Terminal;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::MutexGuard;

fn fault(what: &str, why: impl std::fmt::Display) -> InternalError {
    InternalError::Kernel { what: what.to_owned(), why: why.to_string() }
}

fn control_socket() -> Result<(Channel, OwnedFd), InternalError> {
    Channel::pair().map_err(|e| fault("making a control socket", machine::open(&e.into())))
}

pub(super) fn kernel(fakes: &Path, turn: MutexGuard<'static, ()>) -> Result<LockstepKernel, InternalError> {
    let path = fakes.canonicalize().map_err(|e| InternalError::Fake(format!("{}: {e}", fakes.display())))?;
    let fakes = CString::new(path.as_os_str().as_bytes()).map_err(|e| InternalError::Fake(e.to_string()))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|e| {
        fault("becoming a subreaper", format!("{e}; Linux 3.4 or later is needed, and a sandbox must allow prctl"))
    })?;
    // SAFETY: sets the kernel's own default; if a runner is started with SIGCHLD ignored, it cannot wait for any child.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    machine::has_proc().map_err(|missing| InternalError::Fake(missing.to_string()))?;
    let lifeline = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| fault("making the lifeline", machine::open(&e.into())))?;
    let claim = Claim::new().map_err(|e| fault("claiming an address of loopback", machine::loopback(&e)))?;
    Ok(LockstepKernel {
        fakes,
        starter: None,
        one_by_one: false,
        lifeline: (descriptor::lifted(lifeline.0), descriptor::lifted(lifeline.1)),
        watchdog: WATCHDOG,
        claim,
        processes: Vec::new(),
        sessions: BTreeMap::new(),
        objects: Objects::default(),
        handles: Vec::new(),
        ours: BTreeSet::new(),
        terminals: BTreeMap::new(),
        happened: Vec::new(),
        turns: 0,
        stops: 0,
        shells: BTreeMap::new(),
        _turn: turn,
    })
}

/// The streams of a new agent: the scheduler's ends, and what the agent holds.
#[derive(Default)]
struct Ends {
    given: Vec<(Stream, Option<OwnedFd>)>,
    holds: BTreeSet<Key>,
    fds: Vec<(u32, Key)>,
}

impl LockstepKernel {
    pub(super) fn start_agent(&mut self, launch: &Launch) -> Result<(Proc, Streams), InternalError> {
        let mut streams = Streams::default();
        let mut ends = Ends::default();
        let with_tty = launch.terminal.stdin_is_tty() || launch.terminal == Terminal::CttyNull;
        let mut terminal = None;
        if with_tty {
            let master = Master::open().map_err(|e| fault("opening a terminal", machine::terminal(&e.into())))?;
            terminal = Some((master.slave.clone(), Key::Tty(master.device)));
            self.terminals.insert(master.device, super::tty::Terminal::default());
            self.objects.name(Key::Tty(master.device));
            streams.tty = Some(self.keep(Own::Master { master, session: 0 }));
        }
        match &terminal {
            Some((path, key)) if launch.terminal != Terminal::CttyNull => {
                ends.given.extend([0, 1, 2].map(|_| (Stream::Open(path.clone()), None)));
                ends.holds.insert(*key);
                ends.fds.extend([0, 1, 2].map(|fd| (fd, *key)));
            }
            _ => self.connect_streams(launch.terminal, &mut streams, &mut ends)?,
        }
        let given: Vec<Stream> = ends.given.iter().map(|(stream, _)| stream.clone()).collect();
        let given: [Stream; 3] = given.try_into().unwrap_or([Stream::Null, Stream::Null, Stream::Null]);
        let (mut channel, theirs) = control_socket()?;
        // how long a participant may say nothing is not how long a machine may take to start one
        let limited = super::turn::limit(&channel, self.watchdog.max(WATCHDOG));
        limited.map_err(|e| fault("limiting a control socket", e))?;
        let (pid, shell) = match launch.terminal {
            terminal if terminal.is_background() => self.start_by_shell(launch, given, (&mut channel, theirs))?,
            _ => {
                let terminal = terminal.as_ref().map(|(path, _)| path);
                let what = What { argv: &launch.argv, env: &launch.env, streams: given, terminal };
                (self.begin(what, (&mut channel, theirs))?, None)
            }
        };
        drop(ends.given);
        if self.watchdog < WATCHDOG {
            self.limit(&channel)?;
        }
        let plan = Some(Box::new(launch.plan.clone()));
        let proc = self.enter(launch.role.clone(), None, launch.argv.clone(), pid, channel, Vec::new(), plan)?;
        for key in &ends.holds {
            self.objects.hold(*key);
        }
        let process = self.get_mut(proc);
        process.holds = ends.holds;
        process.fds = ends.fds;
        let mut foreground = pid;
        if let Some(shell) = shell {
            process.sid = shell.pid;
            process.ours = false;
            foreground = shell.pid;
            process.shell = Some(shell);
        }
        let sid = process.sid;
        let terminal = terminal.map(|(_, key)| key);
        if let Some(Key::Tty(device)) = terminal.filter(|_| foreground != pid) {
            self.shells.insert(foreground, device);
        }
        if let Some(handle) = streams.tty
            && let Some(Some(Own::Master { session, master })) = self.handles.get_mut(handle.0 as usize)
        {
            *session = sid;
            let device = master.device;
            self.sessions.insert(sid, Session { foreground, hung_up: false, device });
        }
        Ok((proc, streams))
    }

    /// Pipes and `/dev/null` for an agent whose streams are not a terminal.
    fn connect_streams(
        &mut self,
        terminal: Terminal,
        streams: &mut Streams,
        ends: &mut Ends,
    ) -> Result<(), InternalError> {
        let pipe = || descriptor::pipe().map_err(|e| fault("making a pipe", machine::pipe(&e)));
        match terminal {
            Terminal::Pipe | Terminal::Closed => {
                let (read, write, inode) = pipe()?;
                self.objects.name(Key::PipeRead(inode));
                ends.given.push((Stream::Fd(read.as_raw_fd()), Some(read)));
                ends.holds.insert(Key::PipeRead(inode));
                ends.fds.push((0, Key::PipeRead(inode)));
                if terminal == Terminal::Pipe {
                    let key = Key::PipeWrite(inode);
                    self.objects.hold(key);
                    streams.stdin = Some(self.keep(Own::Plain { fd: write, key }));
                }
            }
            _ => {
                ends.given.push((Stream::Null, None));
                ends.fds.push((0, Key::Other));
            }
        }
        for fd in [1, 2] {
            let (read, write, inode) = pipe()?;
            self.objects.name(Key::PipeRead(inode));
            ends.fds.push((fd, Key::PipeWrite(inode)));
            ends.given.push((Stream::Fd(write.as_raw_fd()), Some(write)));
            ends.holds.insert(Key::PipeWrite(inode));
            let key = Key::PipeRead(inode);
            self.objects.hold(key);
            let handle = self.keep(Own::Plain { fd: read, key });
            match fd {
                1 => streams.stdout = Some(handle),
                _ => streams.stderr = Some(handle),
            }
        }
        Ok(())
    }

    /// Starts a session's leader that starts the agent in the background: a group whose reads of the terminal stop
    /// it must have a parent in its session that is in another group.
    fn start_by_shell(
        &mut self,
        launch: &Launch,
        streams: [Stream; 3],
        (agents, theirs): (&mut Channel, OwnedFd),
    ) -> Result<(i32, Option<Shell>), InternalError> {
        let (mut channel, its_end) = control_socket()?;
        self.limit(&channel)?;
        let what = What { argv: &[SHELL.to_owned()], env: &[], streams, terminal: None };
        let pid = self.begin(what, (&mut channel, its_end))?;
        let pidfd = pidfd_of(pid).map_err(|e| fault("watching the shell", e))?;
        let nohup = launch.terminal == Terminal::TtyBackgroundNohup;
        let mut shell = Shell { pid, pidfd, channel, nohup };
        let job = Job::Start { argv: launch.argv.clone(), env: launch.env.clone() };
        let started = shell_job(&mut shell, &job, &[theirs.as_fd()]);
        drop(theirs);
        let started = started.and_then(|agent| match &self.starter {
            Some(_) => joined(agents).map(|()| agent).map_err(|e| JobError(machine::start(&e)).into()),
            None => Ok(agent),
        });
        match started {
            Ok(agent) => Ok((agent, Some(shell))),
            Err(why) => {
                end(pid);
                Err(InternalError::Fake(format!("{}: {why}", launch.argv.join(" "))))
            }
        }
    }

    /// Starts a participant that leads a session: by a fork where that can be, else by itself. It takes its end of the
    /// control socket.
    fn begin(&mut self, what: What<'_>, sockets: (&mut Channel, OwnedFd)) -> Result<i32, InternalError> {
        if self.starter.is_none() && !self.one_by_one {
            self.starter = Starter::of(&self.fakes).map_err(|e| self.unstarted(what.argv, &e))?;
            self.one_by_one = self.starter.is_none();
        }
        let pid = match &mut self.starter {
            Some(starter) => starter.start(&what, sockets, self.lifeline.0.as_fd()),
            None => spawn(&Order {
                exe: &self.fakes,
                argv: what.argv,
                env: what.env,
                streams: what.streams,
                group: Group::Session,
                terminal: what.terminal,
                control: Some((sockets.1.as_raw_fd(), self.lifeline.0.as_raw_fd())),
                ignored: &[],
            }),
        };
        pid.map_err(|error| {
            // the next cell begins with another one
            self.starter = None;
            self.unstarted(what.argv, &error)
        })
    }

    fn unstarted(&self, argv: &[String], error: &std::io::Error) -> InternalError {
        let name = argv.first().map_or("", String::as_str);
        let why = machine::start(error);
        InternalError::Fake(format!("{name} could not be started from {}: {why}", self.fakes.to_string_lossy()))
    }

    pub(super) fn clear_away(&mut self) -> Result<Vec<Left>, InternalError> {
        let alive = self.processes.iter().filter(|p| p.alive());
        let left = alive.map(|p| Left { role: p.role.clone(), argv: p.argv.clone() }).collect();
        let mut silent = None;
        let announced = self.handles.iter().flatten().try_for_each(|own| self.is_as_announced(own));
        for process in self.processes.iter().filter(|p| p.alive()) {
            // by descriptor: a number could be another process's by now if the table were wrong
            let _ = rustix::process::pidfd_send_signal(&process.pidfd, rustix::process::Signal::KILL);
        }
        for process in &self.processes {
            if !ended_within(&process.pidfd, self.watchdog) {
                silent = Some(process.role.clone());
            }
        }
        let watchdog = self.watchdog;
        for process in &mut self.processes {
            if let Some(shell) = &process.shell {
                let _ = rustix::process::pidfd_send_signal(&shell.pidfd, rustix::process::Signal::KILL);
                ended_within(&shell.pidfd, watchdog);
                let _ = reap_here(&shell.pidfd);
            }
        }
        // all parents are gone, so this process reaps whoever is still a zombie
        for process in self.processes.iter().filter(|p| p.state != State::Gone) {
            let _ = reap_here(&process.pidfd);
        }
        self.processes.clear();
        self.sessions.clear();
        self.handles.clear();
        self.ours.clear();
        self.terminals.clear();
        self.happened.clear();
        self.objects = Objects::default();
        self.stops = 0;
        self.shells.clear();
        announced?;
        match silent {
            None => Ok(left),
            Some(role) => Err(InternalError::Silent {
                role,
                real_ms: u64::try_from(self.watchdog.as_millis()).unwrap_or(u64::MAX),
                doing: "being killed".into(),
            }),
        }
    }
}
