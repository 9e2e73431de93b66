//! A command of an agent's shell tool: a child whose output its agent reads through pipes.
//!
//! Invariant: of a child that was started, the agent holds the reading ends of its output and at most the writing end of
//! its stdin; of one that could not be started, nothing.

use rehang_os::os::{Child, Errno, Exit, Fd, Group, Os, Read, STDIN, Spawn, Stdio};
use rehang_scenario::turns::{Bash, ChildStdin};

/// How much is read from a child at once, in bytes.
pub(crate) const READ_BYTES: usize = 65_536;

/// A child, and the agent's ends of its pipes.
pub(crate) struct Piped {
    pub child: Child,
    /// The end of a stdin that nobody writes to.
    pub stdin: Option<Fd>,
    pub stdout: Fd,
    pub stderr: Fd,
}

/// Starts a command. `stdin` is what it has if the scenario says nothing of that.
///
/// # Errors
/// It cannot be started.
pub(crate) fn spawn(
    os: &mut dyn Os,
    bash: &Bash,
    stdin: ChildStdin,
    env: Vec<(String, String)>,
    group: Group,
) -> Result<Piped, Errno> {
    spawn_argv(os, crate::tool::argv(&bash.does, &bash.command), bash.tool.stdin.unwrap_or(stdin), env, group)
}

/// Starts a command line.
///
/// # Errors
/// It cannot be started.
pub(crate) fn spawn_argv(
    os: &mut dyn Os,
    argv: Vec<String>,
    stdin: ChildStdin,
    env: Vec<(String, String)>,
    group: Group,
) -> Result<Piped, Errno> {
    let (out, out_end) = os.pipe();
    let (err, err_end) = os.pipe();
    let (stdin, theirs, kept) = match stdin {
        ChildStdin::Null => (Stdio::Null, None, None),
        ChildStdin::Inherit => (Stdio::Fd(STDIN), None, None),
        ChildStdin::Pipe => {
            let (read, write) = os.pipe();
            (Stdio::Fd(read), Some(read), Some(write))
        }
    };
    let started = os.spawn(Spawn { argv, env, stdin, stdout: Stdio::Fd(out_end), stderr: Stdio::Fd(err_end), group });
    for fd in [Some(out_end), Some(err_end), theirs].into_iter().flatten() {
        os.close(fd);
    }
    if started.is_err() {
        for fd in [Some(out), Some(err), kept].into_iter().flatten() {
            os.close(fd);
        }
    }
    started.map(|child| Piped { child, stdin: kept, stdout: out, stderr: err })
}

/// The group of a command whose agent gives each a session of its own, unless the scenario says otherwise.
pub(crate) fn session_of_its_own(bash: &Bash) -> Group {
    match (bash.tool.background_group, bash.tool.new_session.unwrap_or(true)) {
        (true, _) => Group::New,
        (_, true) => Group::Session,
        _ => Group::Inherit,
    }
}

/// Reads all that is in a pipe, and closes it at its end.
pub(crate) fn drain(os: &mut dyn Os, pipe: &mut Option<Fd>, mut take: impl FnMut(&[u8])) {
    while let Some(fd) = *pipe {
        match os.read(fd, READ_BYTES) {
            Read::Data(bytes) => take(&bytes),
            Read::Later => return,
            Read::Eof | Read::Failed(_) => {
                os.close(fd);
                *pipe = None;
            }
        }
    }
}

/// The exit code that a shell reports.
pub(crate) fn exit_code(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => code,
        Exit::Signal(sig) => 128 + sig.number(),
    }
}
