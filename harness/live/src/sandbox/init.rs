//! The sandbox's first process, and how it becomes an agent.
//!
//! Invariants: it dies with the supervisor, and the kernel ends all others of the sandbox with it; its environment,
//! memory and descriptors hold nothing of the user's that an agent could read.

use super::namespaces::fork_first;
use super::{AGENT_ID, CWD, Sandbox, SandboxError, root, step};
use crate::report::Exit;
use crate::terminal::ScreenSize;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Pid, Uid, dup2_stderr, dup2_stdin, dup2_stdout, fork};
use rehang_scenario::Terminal;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// What the first process says, a line of JSON each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The agent runs.
    Started,
    /// The sandbox could not be made, or the agent not be started.
    Failed(String),
    /// The agent's own process is over.
    Exited(Exit),
}

/// A sandbox with a running agent, as the supervisor holds it.
#[derive(Debug)]
pub struct Started {
    /// The sandbox's first process, as the supervisor sees it.
    pub init: Pid,
    /// What the first process says.
    pub said: BufReader<UnixStream>,
    /// The terminal's master, if there is one.
    pub master: Option<OwnedFd>,
    /// The end of the agent's stdin to write to, if it is an open pipe.
    pub stdin: Option<OwnedFd>,
    /// The end of its stdout to read from, if it is a pipe.
    pub stdout: Option<OwnedFd>,
    /// The end of its stderr to read from, if it is a pipe.
    pub stderr: Option<OwnedFd>,
}

/// Makes the sandbox and starts the agent in it. The caller is in the namespaces of [`super::enter`] and has one thread.
///
/// # Errors
/// The step that failed, in the sandbox as well.
pub fn start(sandbox: &Sandbox) -> Result<Started, SandboxError> {
    let (ours, theirs) = step("a socket", UnixStream::pair())?;
    let mut streams = Streams::open(sandbox.terminal)?;
    let kept = streams.ours.take();
    // SAFETY: this process has one thread.
    match step("the sandbox's first process", unsafe { fork_first() })? {
        ForkResult::Child => {
            drop((ours, kept));
            first(sandbox, streams, theirs)
        }
        ForkResult::Parent { child } => {
            drop((theirs, streams));
            let kept = kept.unwrap_or_default();
            let (said, master) = first_word(&ours)?;
            match said {
                Said::Started => {}
                Said::Failed(why) => {
                    let _ = waitpid(child, None);
                    return Err(SandboxError::Start(why));
                }
                Said::Exited(_) => return Err(SandboxError::Start("it ended before it began".to_owned())),
            }
            let [stdin, stdout, stderr] = kept.0;
            Ok(Started { init: child, said: BufReader::new(ours), master, stdin, stdout, stderr })
        }
    }
}

/// The supervisor's ends of the agent's streams.
#[derive(Debug, Default)]
struct Ours([Option<OwnedFd>; 3]);

/// The agent's ends of its streams; the terminal is opened in the sandbox.
#[derive(Debug)]
struct Streams {
    terminal: Terminal,
    pipes: [Option<OwnedFd>; 3],
    ours: Option<Ours>,
}

impl Streams {
    fn open(terminal: Terminal) -> Result<Streams, SandboxError> {
        let pipe = || -> Result<(OwnedFd, OwnedFd), SandboxError> {
            let (read, write) = step("a pipe", std::io::pipe())?;
            Ok((read.into(), write.into()))
        };
        let mut pipes = [None, None, None];
        let mut ours = [None, None, None];
        match terminal {
            Terminal::Tty => {}
            Terminal::TtyBackground | Terminal::TtyBackgroundNohup => {
                return Err(SandboxError::Terminal(terminal.name()));
            }
            _ => {
                for stream in [1, 2] {
                    let (read, write) = pipe()?;
                    ours[stream] = Some(read);
                    pipes[stream] = Some(write);
                }
            }
        }
        if matches!(terminal, Terminal::Pipe | Terminal::Closed) {
            let (read, write) = pipe()?;
            pipes[0] = Some(read);
            ours[0] = Some(write).filter(|_| terminal == Terminal::Pipe);
        }
        Ok(Streams { terminal, pipes, ours: Some(Ours(ours)) })
    }
}

/// A terminal as the sandbox has it.
struct Pty {
    master: OwnedFd,
    slave: OwnedFd,
}

/// The first message of the first process, with the terminal's master.
fn first_word(socket: &UnixStream) -> Result<(Said, Option<OwnedFd>), SandboxError> {
    let (mut line, mut master) = (Vec::new(), None);
    // A byte at a time: the next message of an agent that ends at once is in the stream already, and must stay there.
    while line.len() < WORD_MAX {
        let mut byte = [0_u8; 1];
        let mut space = nix::cmsg_space!([RawFd; 1]);
        let mut parts = [IoSliceMut::new(&mut byte)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message =
            step("hearing of the sandbox", recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags))?;
        for control in step("hearing of the sandbox", message.cmsgs())? {
            if let ControlMessageOwned::ScmRights(fds) = control {
                // SAFETY: the kernel has just made these descriptors for us.
                master = fds.first().map(|&fd| unsafe { OwnedFd::from_raw_fd(fd) });
            }
        }
        if message.bytes == 0 || byte == *b"\n" {
            break;
        }
        line.extend(byte);
    }
    let said = serde_json::from_slice(&line);
    Ok((said.unwrap_or_else(|_| Said::Failed("the sandbox's first process ended".to_owned())), master))
}

/// The most bytes of the first message.
const WORD_MAX: usize = 65_536;

fn first(sandbox: &Sandbox, streams: Streams, mut socket: UnixStream) -> ! {
    let result = (|| {
        // A supervisor that ended before this shows as a closed socket below: from inside of a PID namespace its number
        // cannot be asked for.
        step("dying with the supervisor", nix::sys::prctl::set_pdeathsig(Signal::SIGKILL))?;
        step("hiding from the agent", nix::sys::prctl::set_dumpable(false))?;
        root::make(sandbox)?;
        detach_own_streams()?;
        let pty = open_pty(streams.terminal, sandbox.size)?;
        let agent = fork_agent(sandbox, &streams, pty.as_ref())?;
        Ok::<_, SandboxError>((agent, pty))
    })();
    let (agent, pty) = match result {
        Ok(started) => started,
        Err(error) => {
            let _ = say(&socket, &Said::Failed(error.to_string()), None);
            leave(1)
        }
    };
    if say(&socket, &Said::Started, pty.as_ref().map(|pty| &pty.master)).is_err() {
        leave(1);
    }
    // the reader of the agent's streams must see their ends
    drop((pty, streams));
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == Some(agent) => {
                let exit = match status {
                    WaitStatus::Exited(_, code) => Exit::Code(code),
                    WaitStatus::Signaled(_, sig, _) => Exit::Signal(sig as i32),
                    _ => continue,
                };
                let mut line = serde_json::to_vec(&Said::Exited(exit)).unwrap_or_default();
                line.push(b'\n');
                let _ = socket.write_all(&line);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            // no process is left; the supervisor ends this one
            Err(_) => nix::unistd::pause(),
        }
    }
}

fn say(socket: &UnixStream, said: &Said, fd: Option<&OwnedFd>) -> nix::Result<usize> {
    let mut bytes = serde_json::to_vec(said).unwrap_or_default();
    bytes.push(b'\n');
    let parts = [IoSlice::new(&bytes)];
    let fds: Vec<RawFd> = fd.iter().map(|fd| fd.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    let control: &[ControlMessage<'_>] = if fds.is_empty() { &[] } else { &rights };
    sendmsg::<()>(socket.as_raw_fd(), &parts, control, MsgFlags::MSG_NOSIGNAL, None)
}

/// Replaces the streams that came from the supervisor by `/dev/null`: the sandbox must not write into its report and
/// its errors.
fn detach_own_streams() -> Result<(), SandboxError> {
    let null = step("/dev/null", open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty()))?;
    step("detaching", dup2_stdin(&null).and_then(|()| dup2_stdout(&null)).and_then(|()| dup2_stderr(&null)))
}

fn open_pty(terminal: Terminal, size: ScreenSize) -> Result<Option<Pty>, SandboxError> {
    if !matches!(terminal, Terminal::Tty | Terminal::CttyNull) {
        return Ok(None);
    }
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let pty = (|| {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let slave = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
        let (user, group) = (rustix::fs::Uid::from_raw(AGENT_ID), rustix::fs::Gid::from_raw(AGENT_ID));
        rustix::fs::fchown(&slave, Some(user), Some(group))?;
        Ok::<_, rustix::io::Errno>(Pty { master, slave })
    })();
    let pty = step("a terminal", pty)?;
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the size outlives the call.
    let sized = unsafe { libc::ioctl(pty.slave.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    match sized {
        0 => Ok(Some(pty)),
        _ => step("a terminal's size", Err(std::io::Error::last_os_error())),
    }
}

fn fork_agent(sandbox: &Sandbox, streams: &Streams, pty: Option<&Pty>) -> Result<Pid, SandboxError> {
    let words = |list: &[String]| list.iter().map(|word| CString::new(word.as_str())).collect::<Result<Vec<_>, _>>();
    let argv = words(&sandbox.argv).map_err(|_| SandboxError::Start("a NUL in its arguments".to_owned()))?;
    let env: Vec<String> = sandbox.env.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let env = words(&env).map_err(|_| SandboxError::Start("a NUL in its environment".to_owned()))?;
    let (mut failure, tell) = step("a pipe", std::io::pipe())?;
    // SAFETY: this process has one thread.
    match step("the agent's process", unsafe { fork() })? {
        ForkResult::Child => {
            let mut tell = tell;
            let Err(error) = become_agent(streams, pty, &argv, &env);
            let _ = tell.write_all(error.to_string().as_bytes());
            leave(127)
        }
        ForkResult::Parent { child } => {
            drop(tell);
            let mut why = String::new();
            // ends when the program has been started: the other end closes on exec
            step("the agent's start", failure.read_to_string(&mut why))?;
            if why.is_empty() { Ok(child) } else { Err(SandboxError::Start(why)) }
        }
    }
}

fn become_agent(
    streams: &Streams,
    pty: Option<&Pty>,
    argv: &[CString],
    env: &[CString],
) -> Result<std::convert::Infallible, SandboxError> {
    step("a session", nix::unistd::setsid())?;
    if let Some(pty) = pty {
        // SAFETY: takes no pointer.
        let taken = unsafe { libc::ioctl(pty.slave.as_raw_fd(), libc::TIOCSCTTY, 0) };
        if taken != 0 {
            return step("a controlling terminal", Err(std::io::Error::last_os_error()));
        }
    }
    let null = step("/dev/null", open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty()))?;
    let tty = pty.filter(|_| streams.terminal == Terminal::Tty).map(|pty| pty.slave.as_fd());
    let of = |stream: usize| streams.pipes[stream].as_ref().map(AsFd::as_fd).or(tty).unwrap_or(null.as_fd());
    step("stdin", dup2_stdin(of(0)))?;
    step("stdout", dup2_stdout(of(1)))?;
    step("stderr", dup2_stderr(of(2)))?;
    step("letting go of descriptors", close_the_rest())?;
    drop_privileges()?;
    plain_signals()?;
    step("its folder", std::env::set_current_dir(CWD))?;
    nix::sys::stat::umask(Mode::from_bits_truncate(0o022));
    let program = argv.first().ok_or_else(|| SandboxError::Start("no program".to_owned()))?;
    step(program.to_string_lossy(), nix::unistd::execve(program, argv, env))
}

/// All descriptors but the three streams close when the agent's program starts.
fn close_the_rest() -> std::io::Result<()> {
    // SAFETY: takes no pointer; descriptors are only marked.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Becomes user 1000, without a capability or a way to gain one, and without the keys of the session that the machine's
/// user is in.
fn drop_privileges() -> Result<(), SandboxError> {
    // A new, empty session keyring. A kernel without keyrings has none to read either.
    // SAFETY: the call takes a null name.
    unsafe { libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<u8>()) };
    for capability in 0..=63 {
        // SAFETY: takes no pointer. The kernel knows fewer capabilities and refuses the rest.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    // An ordinary user's namespace does not allow it, and has no group to drop.
    let _ = nix::unistd::setgroups(&[]);
    let (user, group) = (Uid::from_raw(AGENT_ID), Gid::from_raw(AGENT_ID));
    step("its group", nix::unistd::setresgid(group, group, group))?;
    step("its user", nix::unistd::setresuid(user, user, user))?;
    step("dropping capabilities", drop_capabilities())?;
    step("no new privileges", nix::sys::prctl::set_no_new_privs())?;
    step("no core files", nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0))
}

fn drop_capabilities() -> std::io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let none = [0_u32; 6];
    // SAFETY: header and data have the sizes that this version of the call reads.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Restores the default for SIGPIPE, which Rust ignores: an agent expects it, as every program does.
fn plain_signals() -> Result<(), SandboxError> {
    for sig in Signal::iterator().filter(|sig| !matches!(sig, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default action runs no handler.
        step("signals", unsafe { signal(sig, SigHandler::SigDfl) })?;
    }
    step("signals", SigSet::empty().thread_set_mask())
}

impl Started {
    /// The next message of the first process; `None` if it is gone.
    ///
    /// # Errors
    /// The socket's.
    pub fn next_said(&mut self) -> std::io::Result<Option<Said>> {
        let mut line = String::new();
        match self.said.read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(serde_json::from_str(&line).ok()),
        }
    }
}

fn leave(code: i32) -> ! {
    // SAFETY: ends this process; nothing of the parent's is run twice.
    unsafe { libc::_exit(code) }
}
