//! What `fake-tool` has started with pipes to itself: hooks, tool servers, language servers.
//!
//! Invariant: each is found by the name that its step gives, and reaped at most once; a process that is not reaped
//! stays a zombie, and its exit is never known.

use super::args::argv;
use super::children::inherited;
use rehang_os::os::{Child, Errno, Fd, Group, Os, STDERR, STDIN, STDOUT, Sig, Spawn, Stdio, Target};
use rehang_scenario::{
    Canon,
    turns::{Start, StartStream},
};

/// A process that a `start` step has started.
#[derive(Debug, Clone)]
pub(super) struct Started {
    name: String,
    /// The child; `None` if there was no such program.
    child: Option<Child>,
    /// The pipe to its stdin, until that is hung up.
    stdin: Option<Fd>,
    /// The pipe from its stdout.
    stdout: Option<Fd>,
    unreaped: bool,
    is_over: bool,
}

/// All processes that one process has started with pipes.
#[derive(Debug, Clone, Default)]
pub(super) struct All(Vec<Started>);

impl All {
    /// Starts the process that a step describes.
    pub(super) fn start(&mut self, os: &mut dyn Os, start: &Start) -> Result<(), Errno> {
        let mut started = Started {
            name: start.name.clone(),
            child: None,
            stdin: None,
            stdout: None,
            unreaped: start.unreaped,
            is_over: false,
        };
        if !start.missing {
            let mut theirs = Vec::new();
            let mut stream = |os: &mut dyn Os, wish: StartStream, fd: Fd| match wish {
                StartStream::Null => (Stdio::Null, None),
                StartStream::Inherit => (inherited(os, fd), None),
                StartStream::Pipe => {
                    let (reads, writes) = os.pipe();
                    let (mine, other) = if fd == STDIN { (writes, reads) } else { (reads, writes) };
                    theirs.push(other);
                    (Stdio::Fd(other), Some(mine))
                }
            };
            let (stdin, to) = stream(os, start.stdin.unwrap_or(StartStream::Pipe), STDIN);
            let (stdout, from) = stream(os, start.stdout.unwrap_or(StartStream::Pipe), STDOUT);
            // if its stderr is a pipe, nothing reads it: what it says there is lost, or fills the pipe
            let (stderr, _) = stream(os, start.stderr.unwrap_or(StartStream::Inherit), STDERR);
            let argv = argv(&start.does, &start.name);
            let child = os.spawn(Spawn { argv, env: os.envs(), stdin, stdout, stderr, group: Group::Inherit });
            theirs.into_iter().for_each(|fd| os.close(fd));
            (started.child, started.stdin, started.stdout) = (Some(child?), to, from);
        }
        self.0.push(started);
        Ok(())
    }

    /// The pipe to the stdin of the process of this name.
    pub(super) fn stdin(&self, name: &str) -> Option<Fd> {
        self.find(name)?.stdin
    }

    /// The pipe from the stdout of the process of this name.
    pub(super) fn stdout(&self, name: &str) -> Option<Fd> {
        self.find(name)?.stdout
    }

    /// Closes the pipe to the stdin of the process of this name.
    pub(super) fn hang_up(&mut self, os: &mut dyn Os, name: &str) {
        let started = self.0.iter_mut().find(|started| started.name == name);
        if let Some(fd) = started.and_then(|started| started.stdin.take()) {
            os.close(fd);
        }
    }

    /// Sends SIGTERM to the process of this name, if it is alive.
    pub(super) fn end(&mut self, os: &mut dyn Os, name: &str) {
        if let Some(Started { child: Some(child), is_over: false, .. }) = self.find(name) {
            // a process that is over but not reaped takes a signal without harm
            let _ = os.kill(Target::Child(*child), Sig::Term);
        }
    }

    /// Whether the parent knows that the process of this name is over.
    pub(super) fn is_over(&self, name: &str) -> bool {
        self.find(name).is_none_or(|started| started.is_over)
    }

    /// Whether the end of the process of this name can still become known.
    pub(super) fn can_end(&self, name: &str) -> bool {
        self.find(name).is_some_and(Started::is_reaped)
    }

    /// Reaps the processes that are over.
    pub(super) fn reap(&mut self, os: &mut dyn Os) {
        for started in self.0.iter_mut().filter(|started| started.is_reaped()) {
            started.is_over = started.child.is_some_and(|child| os.try_wait(child).is_some());
        }
    }

    /// Whether a process is alive that is reaped when it ends.
    pub(super) fn any_lives(&self) -> bool {
        self.0.iter().any(Started::is_reaped)
    }

    fn find(&self, name: &str) -> Option<&Started> {
        self.0.iter().find(|started| started.name == name)
    }

    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self(all) = self;
        canon.list(all, |canon, started| {
            let Started {
                name: _, // not compared: the steps give it, and they never change
                child,
                stdin,
                stdout,
                unreaped: _, // not compared: as the name
                is_over,
            } = started;
            let number = |fd: &Option<Fd>| fd.map_or(0, |fd| u64::from(fd.0) + 1);
            canon.num(child.map_or(0, |child| child.0.into())).num(number(stdin)).num(number(stdout)).flag(*is_over);
        });
    }
}

impl Started {
    fn is_reaped(&self) -> bool {
        self.child.is_some() && !self.unreaped && !self.is_over
    }
}
