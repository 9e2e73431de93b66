//! Sessions, process groups, and what a terminal does to them.
//!
//! On the real side the row forks a session's leader and the other processes that it needs; they report what they see
//! in words through a pipe. They run in a copy of a process with threads, so they call nothing except the kernel.

use super::Row;
use super::real::{Tty, comes, read, write};
use crate::kernel::{Change, Handle, Kernel, Launch, Proc};
use crate::os::{Child, Disposition, Errno, FdKind, Group, Os, Read, STDIN, STDOUT, Sig, Spawn, Stdio, Target, Write};
use crate::sim::SimKernel;
use crate::sim::os::View;
use rehang_scenario::{Agent, Terminal, VTime, plan::Plan};
use rustix::event::PollFlags;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

// --- the real side ---

/// The pipe through which a forked process reports.
#[derive(Clone, Copy)]
struct Says(i32);

impl Says {
    fn say(self, word: &str) {
        // SAFETY: writes bytes of ours to a descriptor of ours.
        unsafe {
            libc::write(self.0, word.as_ptr().cast(), word.len());
        }
    }

    fn signal(self, number: i32) {
        self.say(match number {
            libc::SIGHUP => "HUP ",
            libc::SIGINT => "INT ",
            libc::SIGTERM => "TERM ",
            libc::SIGCONT => "CONT ",
            libc::SIGTTIN => "TTIN ",
            libc::SIGTTOU => "TTOU ",
            libc::SIGTSTP => "TSTP ",
            libc::SIGSTOP => "STOP ",
            _ => "another signal ",
        });
    }

    /// What became of a child.
    fn status(self, pid: i32) {
        let mut status = 0;
        // SAFETY: `waitpid` writes one number.
        unsafe {
            libc::waitpid(pid, &raw mut status, libc::WUNTRACED);
        }
        if libc::WIFSTOPPED(status) {
            self.say("stopped by ");
            self.signal(libc::WSTOPSIG(status));
        } else if libc::WIFSIGNALED(status) {
            self.say("killed by ");
            self.signal(libc::WTERMSIG(status));
        } else {
            self.say(if libc::WEXITSTATUS(status) == 0 { "goes on " } else { "EIO " });
        }
    }
}

/// Forks; the child runs this function and exits with its result.
fn forked(does: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls only what may be called after a fork, and never returns from here.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(does()),
            pid => pid,
        }
    }
}

/// Forks into a group of its own, in the background of the terminal.
fn in_background(does: impl FnOnce() -> i32) -> i32 {
    let pid = forked(|| {
        // SAFETY: numbers only.
        unsafe {
            libc::setpgid(0, 0);
        }
        does()
    });
    // SAFETY: numbers only; parent and child both set it, so the group exists before anybody waits.
    unsafe {
        libc::setpgid(pid, pid);
    }
    pid
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: a `sigset_t` is plain memory.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

fn block(signals: &[i32]) {
    let set = set_of(signals);
    // SAFETY: reads the set.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// The next of these blocked signals.
fn next_of(signals: &[i32]) -> i32 {
    let set = set_of(signals);
    let mut number = 0;
    // SAFETY: reads the set, writes one number.
    unsafe {
        libc::sigwait(&raw const set, &raw mut number);
    }
    number
}

fn send(pid: i32, signal: i32) {
    // SAFETY: numbers only.
    unsafe {
        libc::kill(pid, signal);
    }
}

/// Reads the terminal: 1 for EIO.
fn reads(slave: i32) -> i32 {
    let mut byte = 0_u8;
    // SAFETY: reads into one byte; the descriptor does not block.
    unsafe {
        let failed = libc::read(slave, (&raw mut byte).cast(), 1) < 0;
        i32::from(failed && *libc::__errno_location() == libc::EIO)
    }
}

/// A session on a terminal of its own: what its processes report, once `acts` has done something to its master and all
/// of them have ended. `acts` runs when they have reported this much.
fn session(leader: impl FnOnce(i32, Says) -> i32, ready: &str, acts: impl FnOnce(&mut Option<OwnedFd>)) -> String {
    let tty = Tty::new();
    let (hears, says) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let (slave, says_fd) = (tty.slave.as_raw_fd(), Says(says.as_raw_fd()));
    let master = tty.master.as_raw_fd();
    let pid = forked(|| {
        // SAFETY: numbers only; the signals' dispositions and mask are those of a fresh process afterwards.
        unsafe {
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            let none = set_of(&[]);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::close(master);
            libc::setsid();
            libc::ioctl(slave, libc::TIOCSCTTY, 0);
        }
        leader(slave, says_fd)
    });
    drop(says);
    let mut said = Vec::new();
    let mut master = Some(tty.master);
    drop(tty.slave);
    let mut acts = Some(acts);
    loop {
        if said.ends_with(ready.as_bytes())
            && let Some(acts) = acts.take()
        {
            acts(&mut master);
        }
        assert!(comes(hears.as_fd(), PollFlags::IN), "only {}", String::from_utf8_lossy(&said));
        match read(hears.as_fd(), 100).unwrap() {
            bytes if bytes.is_empty() => break,
            bytes => said.extend(bytes),
        }
    }
    let mut status = 0;
    // SAFETY: `waitpid` writes one number.
    unsafe {
        libc::waitpid(pid, &raw mut status, 0);
    }
    let said = String::from_utf8(said).unwrap();
    said.strip_prefix(ready).unwrap_or(&said).trim_end().to_owned()
}

/// The same, if nothing is done from outside.
fn alone(leader: impl FnOnce(i32, Says) -> i32) -> String {
    session(leader, "", |_| {})
}

// --- the model's side ---

/// An agent that does nothing by itself, on this terminal.
fn agent(terminal: Terminal) -> (SimKernel, Proc, Option<Handle>) {
    let launch = Launch {
        role: "agent".into(),
        argv: vec!["idler".into()],
        env: Vec::new(),
        plan: Plan {
            agent: Agent::program(Vec::new()),
            turns: Vec::new(),
            faults: Vec::new(),
            inside: Vec::new(),
            model_port: None,
            tools: None,
            stored: None,
        },
        terminal,
    };
    let mut kernel = SimKernel::new(super::idler);
    let (proc, streams) = kernel.start(&launch).unwrap();
    kernel.run(proc, VTime::ZERO).unwrap();
    kernel.happened();
    (kernel, proc, streams.tty)
}

fn os(kernel: &mut SimKernel, me: Proc) -> View<'_> {
    View { kernel, me, now: VTime::ZERO }
}

/// A child of a process; it does nothing by itself.
fn child(kernel: &mut SimKernel, of: Proc, group: Group) -> Proc {
    let next = Proc(kernel.processes.len() as u32);
    let argv = vec!["idler".into()];
    let stream = |fd| Stdio::Fd(fd);
    let spawn =
        Spawn { argv, env: Vec::new(), stdin: stream(STDIN), stdout: stream(STDOUT), stderr: stream(STDOUT), group };
    os(kernel, of).spawn(spawn).unwrap();
    kernel.run(next, VTime::ZERO).unwrap();
    kernel.happened();
    next
}

/// What happened to a process, in the words of the real side.
fn happened(kernel: &mut SimKernel, to: Proc) -> String {
    let role = kernel.role(to).to_owned();
    let words = kernel.happened().into_iter().filter(|h| h.role == role).filter_map(|h| match h.what {
        Change::Stopped(sig) => Some(format!("stopped by {}", sig.name())),
        Change::Ended(crate::os::Exit::Signal(sig)) => Some(format!("killed by {}", sig.name())),
        Change::Continued => Some("continued".into()),
        _ => None,
    });
    words.collect::<Vec<String>>().join(" ")
}

fn of_read(read: &Read) -> &'static str {
    match read {
        Read::Failed(Errno::Io) => "EIO",
        Read::Later => "goes on",
        _ => "something else",
    }
}

fn taken(kernel: &mut SimKernel, of: Proc) -> String {
    std::iter::from_fn(|| os(kernel, of).take_signal()).map(Sig::name).collect::<Vec<_>>().join(" ")
}

// --- the rows ---

fn background_read() -> (String, String) {
    let linux = alone(|slave, says| {
        says.status(in_background(|| reads(slave)));
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::TtyBackground);
    os(&mut kernel, agent).read(STDIN, 1);
    kernel.turn_ends(agent);
    (linux, happened(&mut kernel, agent))
}

fn background_mode() -> (String, String) {
    let linux = alone(|slave, says| {
        says.status(in_background(|| {
            // SAFETY: asks for the modes and sets them again.
            unsafe {
                let mut modes: libc::termios = std::mem::zeroed();
                libc::tcgetattr(slave, &raw mut modes);
                libc::tcsetattr(slave, libc::TCSANOW, &raw const modes);
            }
            0
        }));
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::TtyBackground);
    assert_eq!(os(&mut kernel, agent).set_tty(STDIN), Write::Later);
    kernel.turn_ends(agent);
    (linux, happened(&mut kernel, agent))
}

fn background_print() -> (String, String) {
    let linux = alone(|slave, says| {
        says.status(in_background(|| {
            Says(slave).say("x");
            0
        }));
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::TtyBackground);
    let wrote = os(&mut kernel, agent).write(STDOUT, b"x");
    (linux, if wrote == Write::Took(1) { "goes on".into() } else { format!("{wrote:?}") })
}

fn background_read_ignored() -> (String, String) {
    let linux = alone(|slave, says| {
        says.status(in_background(|| {
            // SAFETY: numbers only.
            unsafe {
                libc::signal(libc::SIGTTIN, libc::SIG_IGN);
            }
            reads(slave)
        }));
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::TtyBackground);
    os(&mut kernel, agent).on_signal(Sig::Ttin, Disposition::Ignore);
    (linux, of_read(&os(&mut kernel, agent).read(STDIN, 1)).into())
}

/// Runs this, and comes back when all that it forked have ended: they hold one end of a pipe.
fn until_all_ended(does: impl FnOnce()) {
    let mut ends = [0; 2];
    let mut byte = 0_u8;
    // SAFETY: a pipe of ours, and a read into one byte.
    unsafe {
        libc::pipe(ends.as_mut_ptr());
        does();
        libc::close(ends[1]);
        libc::read(ends[0], (&raw mut byte).cast(), 1);
    }
}

/// Waits until this process has another parent.
fn is_orphaned(parent: i32) {
    // SAFETY: numbers only.
    unsafe {
        while libc::getppid() == parent {
            libc::sched_yield();
        }
    }
}

fn own_pid() -> i32 {
    // SAFETY: no argument, no failure.
    unsafe { libc::getpid() }
}

/// A child of a child whose parent ends: nobody is left in its group's session who could continue the group.
fn orphan_reads() -> (String, String) {
    let linux = alone(|slave, says| {
        until_all_ended(|| {
            in_background(|| {
                let parent = own_pid();
                in_background(|| {
                    is_orphaned(parent);
                    says.say(if reads(slave) == 1 { "EIO" } else { "goes on" });
                    0
                });
                0
            });
        });
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::Tty);
    let parent = child(&mut kernel, agent, Group::New);
    let orphan = child(&mut kernel, parent, Group::New);
    kernel.kill(parent, false, Sig::Kill).unwrap();
    (linux, of_read(&os(&mut kernel, orphan).read(STDIN, 1)).into())
}

fn orphan_tstp() -> (String, String) {
    let linux = alone(|_, says| {
        until_all_ended(|| {
            in_background(|| {
                let parent = own_pid();
                in_background(|| {
                    is_orphaned(parent);
                    send(own_pid(), libc::SIGTSTP);
                    says.say("goes on");
                    0
                });
                0
            });
        });
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::Tty);
    let parent = child(&mut kernel, agent, Group::New);
    let orphan = child(&mut kernel, parent, Group::New);
    kernel.kill(parent, false, Sig::Kill).unwrap();
    kernel.kill(orphan, false, Sig::Tstp).unwrap();
    let what = happened(&mut kernel, orphan);
    (linux, if what.is_empty() { "goes on".into() } else { what })
}

/// A stopped group loses the last process that could continue it.
fn orphan_stopped() -> (String, String) {
    let linux = alone(|_, says| {
        until_all_ended(|| {
            in_background(|| {
                block(&[libc::SIGHUP, libc::SIGCONT]);
                let orphan = in_background(|| {
                    send(own_pid(), libc::SIGSTOP);
                    for _ in 0..2 {
                        says.signal(next_of(&[libc::SIGHUP, libc::SIGCONT]));
                    }
                    0
                });
                let mut status = 0;
                // SAFETY: `waitpid` writes one number; it is stopped then.
                unsafe {
                    libc::waitpid(orphan, &raw mut status, libc::WUNTRACED);
                }
                0
            });
        });
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::Tty);
    let parent = child(&mut kernel, agent, Group::New);
    let orphan = child(&mut kernel, parent, Group::New);
    for sig in [Sig::Hup, Sig::Cont] {
        os(&mut kernel, orphan).on_signal(sig, Disposition::Catch);
    }
    kernel.kill(orphan, false, Sig::Stop).unwrap();
    kernel.kill(parent, false, Sig::Kill).unwrap();
    (linux, taken(&mut kernel, orphan))
}

fn leader_dies() -> (String, String) {
    let linux = alone(|_, says| {
        block(&[libc::SIGHUP]);
        forked(|| {
            says.signal(next_of(&[libc::SIGHUP]));
            0
        });
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::Tty);
    let other = child(&mut kernel, agent, Group::Inherit);
    os(&mut kernel, other).on_signal(Sig::Hup, Disposition::Catch);
    kernel.kill(agent, false, Sig::Kill).unwrap();
    (linux, taken(&mut kernel, other))
}

fn by_number() -> (String, String) {
    let both = [libc::SIGTERM, libc::SIGHUP];
    let linux = alone(|_, says| {
        block(&both);
        for signal in both {
            // SAFETY: sends a signal that is blocked.
            unsafe {
                libc::kill(libc::getpid(), signal);
            }
        }
        for _ in 0..2 {
            says.signal(next_of(&both));
        }
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::Tty);
    let both = [Sig::Term, Sig::Hup];
    both.iter().for_each(|&sig| os(&mut kernel, agent).on_signal(sig, Disposition::Catch));
    both.iter().for_each(|&sig| kernel.kill(agent, false, sig).unwrap());
    (linux, taken(&mut kernel, agent))
}

fn hung_up() -> (String, String) {
    let both = [libc::SIGHUP, libc::SIGCONT];
    let linux = session(
        |_, says| {
            block(&both);
            says.say("ready ");
            for _ in 0..2 {
                says.signal(next_of(&both));
            }
            0
        },
        "ready ",
        |master| drop(master.take()),
    );
    let (mut kernel, agent, tty) = agent(Terminal::Tty);
    for sig in [Sig::Hup, Sig::Cont] {
        os(&mut kernel, agent).on_signal(sig, Disposition::Catch);
    }
    kernel.close(tty.unwrap(), false).unwrap();
    (linux, taken(&mut kernel, agent))
}

/// What a process says of its terminal, in words.
fn of_terminal(is_one: bool) -> &'static str {
    if is_one { "a terminal " } else { "no terminal " }
}

fn hung_up_is_none() -> (String, String) {
    let linux = session(
        |slave, says| {
            // SAFETY: a number.
            let asks = || of_terminal(unsafe { libc::isatty(slave) } == 1);
            block(&[libc::SIGHUP, libc::SIGCONT]);
            says.say(asks());
            says.signal(next_of(&[libc::SIGHUP]));
            says.say(asks());
            0
        },
        of_terminal(true),
        |master| drop(master.take()),
    );
    let (mut kernel, agent, tty) = agent(Terminal::Tty);
    for sig in [Sig::Hup, Sig::Cont] {
        os(&mut kernel, agent).on_signal(sig, Disposition::Catch);
    }
    let asks = |kernel: &mut SimKernel| of_terminal(os(kernel, agent).kind(STDIN) == FdKind::Tty);
    assert_eq!(asks(&mut kernel), of_terminal(true));
    kernel.close(tty.unwrap(), false).unwrap();
    (linux, format!("HUP {}", asks(&mut kernel).trim_end()))
}

fn term_waits() -> (String, String) {
    let linux = alone(|_, says| {
        let pid = in_background(|| {
            send(own_pid(), libc::SIGSTOP);
            0
        });
        says.status(pid);
        send(pid, libc::SIGTERM);
        send(pid, libc::SIGCONT);
        says.status(pid);
        0
    });
    let (mut kernel, agent, _) = agent(Terminal::Tty);
    let other = child(&mut kernel, agent, Group::New);
    kernel.kill(other, false, Sig::Stop).unwrap();
    kernel.kill(other, false, Sig::Term).unwrap();
    kernel.kill(other, false, Sig::Cont).unwrap();
    (linux, happened(&mut kernel, other).replace("continued ", ""))
}

/// Ctrl-C, with one process in the foreground beside the leader and one in the background.
fn interrupt() -> (String, String) {
    let signals = [libc::SIGINT, libc::SIGTERM];
    let linux = session(
        |_, says| {
            block(&signals);
            let foreground = forked(|| {
                says.signal(next_of(&signals));
                0
            });
            let background = in_background(|| next_of(&signals));
            says.say("ready ");
            next_of(&signals);
            let mut status = 0;
            // SAFETY: `waitpid` writes one number.
            unsafe {
                libc::waitpid(foreground, &raw mut status, 0);
            }
            send(background, libc::SIGTERM);
            // SAFETY: as above.
            unsafe {
                libc::waitpid(background, &raw mut status, 0);
            }
            says.signal(libc::WEXITSTATUS(status));
            0
        },
        "ready ",
        |master| assert_eq!(write(master.as_ref().unwrap().as_fd(), b"\x03"), Ok(1)),
    );
    let (mut kernel, agent, tty) = agent(Terminal::Tty);
    let foreground = child(&mut kernel, agent, Group::Inherit);
    let background = child(&mut kernel, agent, Group::New);
    for proc in [agent, foreground, background] {
        for sig in [Sig::Int, Sig::Term] {
            os(&mut kernel, proc).on_signal(sig, Disposition::Catch);
        }
    }
    kernel.write(tty.unwrap(), b"\x03").unwrap();
    let in_foreground = taken(&mut kernel, foreground);
    os(&mut kernel, agent).kill(Target::Child(Child(2)), Sig::Term).unwrap();
    (linux, format!("{in_foreground} {}", taken(&mut kernel, background)))
}

pub fn rows() -> Vec<Row> {
    let row = |name, done: &str, (linux, model)| Row { name, done: done.into(), linux, model };
    vec![
        row("a read in the background stops", "a background process reads its terminal", background_read()),
        row("setting the mode in the background stops", "a background process calls tcsetattr", background_mode()),
        row("printing in the background does not", "a background process writes to its terminal", background_print()),
        row("TTIN ignored", "a background process that ignores TTIN reads its terminal", background_read_ignored()),
        row("an orphaned group does not stop to read", "its parent ends, then it reads its terminal", orphan_reads()),
        row("an orphaned group does not stop by TSTP", "its parent ends, then it sends itself TSTP", orphan_tstp()),
        row(
            "a stopped group that is orphaned is hung up and goes on",
            "it is stopped, and its parent ends",
            orphan_stopped(),
        ),
        row("a leader's end hangs up its foreground", "the session's leader ends", leader_dies()),
        row("a hang-up is the leader's", "the master is closed", hung_up()),
        row("a terminal that was hung up is none", "isatty; the master is closed; isatty", hung_up_is_none()),
        row("caught signals are given by number, not by age", "TERM, then HUP, which are both caught", by_number()),
        row("TERM waits in a stopped process", "STOP, TERM and CONT to a process", term_waits()),
        row(
            "Ctrl-C is for the foreground",
            "type ^C; one in the foreground says what it got, then one in the background",
            interrupt(),
        ),
    ]
}
