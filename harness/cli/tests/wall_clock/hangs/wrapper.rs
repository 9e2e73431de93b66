//! The wrapper: starts the agent with its streams as the cell's terminal says, and reads them as `communicate()` does; a
//! shell between the two, if the agent is in the background; the host of an agent that is driven over its stdin.
//!
//! Invariant: it ends nothing, and waits without a limit; each descriptor that the agent gets is the agent's alone.

use super::keeper::{Order, say};
use rehang_actors::{Actor, Driver, Input, Output, PROMPT};
use rehang_fakes::registry;
use rehang_scenario::{Fault, Terminal, VTime, WrapperFault};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The descriptor on which a shell tells whom it has started.
const TELLS: i32 = 60;

/// The wrapper's ends of the streams.
#[derive(Default)]
struct Ends {
    stdin: Option<File>,
    /// stdout or the terminal, stderr.
    outs: [Option<File>; 2],
    /// A terminal beside them.
    held: Option<File>,
}

/// The agent's command, without streams.
fn agent(order: &Order) -> Command {
    let argv = registry::argv(&order.scenario.agent, &order.scenario.args, PROMPT);
    let mut command = Command::new(order.folder.join("bin").join(&argv[0]));
    command.arg0(&argv[0]).args(&argv[1..]).current_dir(order.folder.join("work"));
    command.env_clear().env("CLAUDE_CONFIG_DIR", order.folder.join("home"));
    command
}

/// Plays the wrapper.
pub fn play(order: &Order, _: &[String]) -> io::Result<()> {
    let terminal = order.terminal;
    // the log of an opencode that is no server, held open as it holds its own
    let logs = super::records::log_of(&order.scenario.agent).filter(|_| !order.scenario.agent.serves());
    let log = match logs {
        Some(folder) => Some(rustix::io::dup(File::create(order.folder.join(folder).join("rehang.log"))?)?),
        None => None,
    };
    let with_tty = terminal.stdin_is_tty() || terminal == Terminal::CttyNull;
    let (mut ends, mut tty) = (Ends::default(), None);
    let mut command = match terminal.is_background() {
        true => {
            let mut shell = Command::new(std::env::current_exe()?);
            shell.arg0("bash").arg("--shell").arg(order.folder.join("order.json"));
            shell
        }
        false => agent(order),
    };
    if with_tty {
        let (master, path) = open_terminal()?;
        (ends.outs[0], tty) = (Some(master), Some(path));
    }
    match &tty {
        Some(path) if terminal != Terminal::CttyNull => {
            let slave = || rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
            command.stdin(slave()?).stdout(slave()?).stderr(slave()?);
        }
        _ => connect(terminal, &mut command, &mut ends)?,
    }
    let tells = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?);
    let (path, number) = (tty, tells.as_raw_fd());
    // SAFETY: system calls alone between fork and exec; none allocates.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if let Some(path) = &path {
                let slave = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
                rustix::process::ioctl_tiocsctty(&slave)?;
            }
            if terminal.is_background() && libc::dup2(number, TELLS) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let child = command.spawn()?;
    drop((command, log));
    if !terminal.is_background() {
        say(&format!("agent {}", child.id()));
    }
    drop(tells);
    if !order.scenario.agent.serves() {
        close_stdout()?;
    }
    let pidfd =
        rustix::process::pidfd_open(rustix::process::Pid::from_child(&child), rustix::process::PidfdFlags::empty())?;
    read_all(order, ends, child, &pidfd)
}

/// Whoever reads this process's stdout learns that no more comes.
fn close_stdout() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&null)?)
}

fn connect(terminal: Terminal, command: &mut Command, ends: &mut Ends) -> io::Result<()> {
    match terminal {
        Terminal::Pipe | Terminal::Closed => {
            let (read, write) = io::pipe()?;
            command.stdin(read);
            ends.stdin = (terminal == Terminal::Pipe).then(|| File::from(OwnedFd::from(write)));
        }
        _ => drop(command.stdin(Stdio::null())),
    }
    let (out, err) = (io::pipe()?, io::pipe()?);
    command.stdout(out.1).stderr(err.1);
    // of a controlling terminal beside the pipes nobody reads
    ends.held = ends.outs[0].take();
    ends.outs = [out.0, err.0].map(|end| Some(File::from(OwnedFd::from(end))));
    Ok(())
}

fn open_terminal() -> io::Result<(File, std::ffi::CString)> {
    let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY | rustix::pty::OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&master, size)?;
    let path = rustix::pty::ptsname(&master, Vec::new())?;
    Ok((File::from(master), path))
}

/// Reads what the cell's wrapper reads, and drives the agent if it is driven, until all is over.
fn read_all(order: &Order, mut ends: Ends, mut child: std::process::Child, pidfd: &OwnedFd) -> io::Result<()> {
    let ignores = |fault| order.scenario.faults.contains(&Fault::Wrapper(fault));
    let stopped = order.terminal == Terminal::StdoutStopped;
    let reads = [!stopped && !ignores(WrapperFault::IgnoresStdout), !ignores(WrapperFault::IgnoresStderr)];
    let mut driver = (order.scenario.agent.is_driven() && ends.stdin.is_some()).then(|| Driver::with_prompt(PROMPT));
    drive(&mut driver, Input::Begin, &mut ends.stdin);
    let (mut alive, mut said) = (true, String::new());
    // a stream that the scenario's wrapper never reads is not waited for; one whose reader has stopped is
    let waited = reads.map(|reads| reads || stopped);
    while alive || ends.outs.iter().zip(waited).any(|(out, waited)| out.is_some() && waited) {
        let mut at = Vec::new();
        let mut polled = Vec::new();
        for (number, out) in ends.outs.iter().enumerate() {
            if let Some(file) = out.as_ref().filter(|_| reads[number]) {
                polled.push(PollFd::new(file, PollFlags::IN));
                at.push(number);
            }
        }
        if alive {
            polled.push(PollFd::new(pidfd, PollFlags::IN));
        }
        if at.is_empty() && alive {
            // nothing to read: what is left of `communicate()` is its `wait()`
            drop(polled);
            child.wait()?;
            alive = false;
            continue;
        }
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let came: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        for (number, _) in at.iter().zip(&came).filter(|(_, came)| **came) {
            let mut bytes = vec![0; 65_536];
            let Some(file) = &mut ends.outs[*number] else { continue };
            match file.read(&mut bytes) {
                Ok(n @ 1..) if *number == 0 => {
                    said.push_str(&String::from_utf8_lossy(&bytes[..n]));
                    if let Some(port) =
                        order.scenario.agent.serves().then(|| rehang_stage::scheduler::port_in(&said)).flatten()
                    {
                        say(&format!("port {port}"));
                        close_stdout()?;
                    }
                    said = said.rsplit('\n').next().unwrap_or_default().to_owned();
                    drive(&mut driver, Input::Output(bytes[..n].to_vec()), &mut ends.stdin);
                }
                Ok(1..) => {}
                Ok(0) | Err(_) => ends.outs[*number] = None,
            }
        }
        if alive && came.get(at.len()) == Some(&true) {
            child.wait()?;
            alive = false;
        }
    }
    Ok(())
}

/// The host takes what comes, and does what it does.
fn drive(driver: &mut Option<Driver>, input: Input, stdin: &mut Option<File>) {
    let Some(driver) = driver else { return };
    let mut out = Vec::new();
    driver.on(VTime::ZERO, input, &mut out);
    for output in out {
        match output {
            // what an agent does not take is lost: it has ended
            Output::Write(line) => drop(stdin.as_mut().map(|stdin| stdin.write_all(&line))),
            Output::CloseStdin => *stdin = None,
            _ => {}
        }
    }
}

/// Plays the interactive shell that has started the agent with `&`: it is at its prompt.
pub fn shell(order: &Order, _: &[String]) -> io::Result<()> {
    // SAFETY: the wrapper has opened it for this process alone, which owns it.
    let mut tells = unsafe { <File as std::os::fd::FromRawFd>::from_raw_fd(TELLS) };
    rustix::io::fcntl_setfd(&tells, rustix::io::FdFlags::CLOEXEC)?;
    let mut command = agent(order);
    let child = command.process_group(0).spawn()?;
    writeln!(tells, "agent {}", child.id())?;
    drop(tells);
    let mut line = [0; 256];
    while rustix::io::read(rustix::stdio::stdin(), &mut line).is_ok_and(|n| n > 0) {}
    Ok(())
}
