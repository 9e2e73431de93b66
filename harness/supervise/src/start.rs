//! Starts the command as its caller would have: on a terminal of its own if ours is a terminal, else on our stdin with
//! pipes for its output.
//!
//! Invariant: stdin is never a pipe of ours, so a command that waits for the caller can be seen to wait for the caller.

use crate::watch;
use nix::sys::signal::SigSet;
use rehang_words::Terminal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A command that runs.
pub struct Running {
    /// Its pid, which is its group's as well.
    pub pid: i32,
    /// How its streams are connected.
    pub terminal: Terminal,
    /// The descriptors from which its stdout (or terminal) and its stderr are read; `None` if it has no such stream of
    /// its own.
    pub outputs: [Option<OwnedFd>; 2],
    /// The master of its terminal, to write to.
    pub master: Option<File>,
    /// The kernel's names of its output streams, as its processes hold them.
    pub files: BTreeSet<PathBuf>,
}

/// Starts it, with the signals blocked that its caller had blocked.
///
/// # Errors
/// A program that is not there or cannot be run; a terminal that cannot be opened.
pub fn start(argv: &[String], mask: SigSet) -> io::Result<Running> {
    let on_terminal = isatty(rustix::stdio::stdin()) && isatty(rustix::stdio::stdout());
    if on_terminal { on_a_terminal(argv, mask) } else { on_pipes(argv, mask) }
}

fn command(argv: &[String]) -> Command {
    let mut command = Command::new(argv.first().map_or("", String::as_str));
    command.args(argv.get(1..).unwrap_or_default());
    command
}

fn on_a_terminal(argv: &[String], mask: SigSet) -> io::Result<Running> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = File::from(rustix::pty::openpt(flags)?);
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let path = rustix::pty::ptsname(&master, Vec::new())?;
    let slave = rustix::fs::open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, 0o600.into())?;
    copy_window(&master);
    if let Ok(modes) = tcgetattr(rustix::stdio::stdin()) {
        let _ = tcsetattr(&slave, OptionalActions::Now, &modes);
    }
    let mut command = command(argv);
    command.stdin(slave.try_clone()?).stdout(slave.try_clone()?);
    let mut files = BTreeSet::from([PathBuf::from(String::from_utf8_lossy(path.as_bytes()).into_owned())]);
    let stderr = match isatty(rustix::stdio::stderr()) {
        true => {
            command.stderr(slave);
            None
        }
        false => Some(pipe(&mut files, |end| {
            command.stderr(end);
        })?),
    };
    let parent = rustix::process::getpid();
    // SAFETY: system calls alone between fork and exec; none allocates.
    unsafe {
        command.pre_exec(move || {
            mask.thread_set_mask()?;
            watch::end_with(parent)?;
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
    let child = command.spawn()?;
    drop(command);
    let read = OwnedFd::from(master.try_clone()?);
    let pid = child.id().cast_signed();
    Ok(Running { pid, terminal: Terminal::Tty, outputs: [Some(read), stderr], master: Some(master), files })
}

fn on_pipes(argv: &[String], mask: SigSet) -> io::Result<Running> {
    let mut command = command(argv);
    let mut files = BTreeSet::new();
    command.stdin(Stdio::inherit());
    let stdout = pipe(&mut files, |end| {
        command.stdout(end);
    })?;
    let stderr = pipe(&mut files, |end| {
        command.stderr(end);
    })?;
    let foreground = isatty(rustix::stdio::stdin());
    let parent = rustix::process::getpid();
    // SAFETY: system calls alone between fork and exec; none allocates.
    unsafe {
        command.pre_exec(move || {
            mask.thread_set_mask()?;
            watch::end_with(parent)?;
            rustix::process::setpgid(None, None)?;
            if foreground {
                // a background process that takes the foreground is stopped unless it ignores this
                libc::signal(libc::SIGTTOU, libc::SIG_IGN);
                let _ = rustix::termios::tcsetpgrp(rustix::stdio::stdin(), rustix::process::getpid());
                libc::signal(libc::SIGTTOU, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let child = command.spawn()?;
    drop(command);
    let pid = child.id().cast_signed();
    Ok(Running { pid, terminal: stdin_kind(), outputs: [Some(stdout), Some(stderr)], master: None, files })
}

/// Makes a pipe: the command's end is passed to `give`, ours is returned.
fn pipe(files: &mut BTreeSet<PathBuf>, give: impl FnOnce(Stdio)) -> io::Result<OwnedFd> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let inode = rustix::fs::fstat(&read)?.st_ino;
    files.insert(PathBuf::from(format!("pipe:[{inode}]")));
    give(Stdio::from(write));
    Ok(read)
}

/// What our stdin is, in the words of a scenario: a pipe or socket that is open counts as `pipe`; what ends by itself
/// (a file, a pipe without a writer) as `closed`.
fn stdin_kind() -> Terminal {
    let stdin = rustix::stdio::stdin();
    if isatty(stdin) {
        return Terminal::Tty;
    }
    let Ok(stat) = rustix::fs::fstat(stdin) else { return Terminal::Closed };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => Terminal::Null,
        FileType::Fifo | FileType::Socket => {
            let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            let _ = poll(&mut polled, Some(&now));
            let ended = polled[0].revents().contains(PollFlags::HUP);
            if ended { Terminal::Closed } else { Terminal::Pipe }
        }
        _ => Terminal::Closed,
    }
}

/// Gives a terminal the size of ours.
pub fn copy_window(master: &File) {
    if let Ok(size) = tcgetwinsize(rustix::stdio::stdin()) {
        let _ = tcsetwinsize(master, size);
    }
}

/// Our terminal in raw mode; its settings are restored when this is dropped.
pub struct Raw(Termios);

impl Raw {
    /// Every key goes to the command's own terminal, which turns some of them into signals.
    pub fn set() -> io::Result<Raw> {
        let before = tcgetattr(rustix::stdio::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?;
        Ok(Raw(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(rustix::stdio::stdin().as_fd(), OptionalActions::Drain, &self.0);
    }
}

/// Takes the terminal back from a command that had its foreground.
pub fn take_back_the_foreground() {
    if !isatty(rustix::stdio::stdin()) {
        return;
    }
    // SAFETY: asks the kernel for a number. Not by rustix, which requires it to be above 0: a group whose leader is
    // outside of this pid namespace is 0, and such a group cannot be named.
    let Some(own) = rustix::process::Pid::from_raw(unsafe { libc::getpgrp() }) else { return };
    // SAFETY: sets the action of a signal; no other thread looks at it.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    let _ = rustix::termios::tcsetpgrp(rustix::stdio::stdin(), own);
    // SAFETY: as above.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_DFL) };
}
