//! A fake that takes part: it runs when the scheduler lets it, and says what it waits for.
//!
//! Invariant: between two `Go` the process waits in one `recvmsg`; it is in the kernel for nothing else, apart from
//! what stops it.

use super::protocol::{
    Begin, CONTROL_ENV, CONTROL_FD, Channel, Given, Job, JobError, Key, LIES_ENV, LIFELINE_FD, SAYS_NOTHING, SHELL,
    Said, Told, Waiting,
};
use crate::linux::descriptor::{await_loopback, is_there};
use crate::linux::fork::{self, Parent};
use crate::linux::os::{Lie, RealOs, Scheduler};
use crate::linux::process::{environment, give_up, hear, leave};
use crate::linux::signals::{self, Signals};
use crate::linux::{named, spawn};
use crate::os::{Disposition, Fd, Next, Program, Programs, Sig, Wait, program_name};
use rehang_processes::machine;
use rehang_scenario::{Canon, VTime};
use rustix::event::PollFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::DupFlags;
use sha2::{Digest, Sha256};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `F_SETSIG` of Linux's `fcntl`, which the libc crate leaves out for GNU.
const F_SETSIG: i32 = 10;

/// Plays the fake that this process was started as to its end.
pub fn play(programs: Programs, argv: &[String]) -> ! {
    play_as(programs, argv, environment(), Signals::inherited())
}

/// Plays what this process was forked for to its end.
fn play_part(programs: Programs, argv: &[String], env: Vec<(String, String)>, ignored: &[Sig]) -> ! {
    match program_name(argv) {
        SHELL => shell(programs),
        _ => play_as(programs, argv, env, Signals::ignoring(ignored)),
    }
}

fn play_as(programs: Programs, argv: &[String], mut env: Vec<(String, String)>, signals: Signals) -> ! {
    let (mut channel, lifeline) = join();
    let Told::Start { role, closed, plan, address } = hear(&mut channel) else { give_up("no start") };
    for fd in closed {
        // SAFETY: no one owns the three standard descriptors yet; the runtime opened them if it found them closed.
        unsafe {
            libc::close(fd.cast_signed());
        }
    }
    let mut lies = None;
    env.retain(|(key, value)| {
        if key == LIES_ENV {
            lies = Some(if value == SAYS_NOTHING { Lie::Nothing } else { Lie::OneMore });
        }
        key != CONTROL_ENV
    });
    let plan = plan.map(|plan| *plan).or_else(|| {
        let json = env.iter().find(|(key, _)| key == rehang_scenario::plan::PLAN_ENV)?;
        serde_json::from_str(&json.1).ok()
    });
    let mut program = match programs(argv, plan.as_ref()) {
        Ok(program) => program,
        Err(why) => {
            channel.put(&Said::Refused(why.to_string()));
            let _ = channel.send(&[]);
            leave(70)
        }
    };
    let mut os = RealOs::new(
        programs,
        Some(Scheduler { channel, lifeline, lies, address, part: play_part }),
        role,
        env,
        signals,
    );
    let mut wait = Wait::default();
    loop {
        let Some(scheduler) = &mut os.scheduler else { give_up("no scheduler") };
        match hear(&mut scheduler.channel) {
            Told::Go { now, tells, signals, soon, input, room } => {
                settle(&os, &soon);
                os.begin(Some(now), room, input, signals);
                match program.resume(&mut os) {
                    Next::Wait(next) => {
                        let state = tells.then(|| state_of(program.as_ref(), now));
                        wait = announce(&mut os, next, state);
                    }
                    Next::Exit(code) => {
                        os.say_moved();
                        os.say(Said::Exiting(code));
                        os.send(None);
                        leave(code)
                    }
                }
            }
            Told::Check => {
                let ready = is_ready(&os, &wait);
                os.say(Said::Ready(ready));
                os.send(None);
            }
            Told::State(now) => {
                say_state(&mut os, &state_of(program.as_ref(), now));
                os.send(None);
            }
            Told::Start { .. } | Told::Now | Told::AtEnd => give_up("an answer to no question"),
        }
    }
}

/// Takes the control socket, and ties this process's life to the scheduler's, even while it is stopped.
fn join() -> (Channel, OwnedFd) {
    // SAFETY: whoever set the variable opened these two descriptors for us; nobody else uses them.
    let (socket, lifeline) = unsafe { (OwnedFd::from_raw_fd(CONTROL_FD), OwnedFd::from_raw_fd(LIFELINE_FD)) };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{LIFELINE_FD}");
    // it takes the place of the one that was given, so that nothing that is opened here ever gets that number
    let mut own = lifeline;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    if let Err(error) = opened.and_then(|opened| rustix::io::dup3(opened, &mut own, DupFlags::CLOEXEC)) {
        let missing = machine::has_proc().err().map(|missing| missing.to_string());
        let why = missing.unwrap_or_else(|| machine::open(&error.into()));
        give_up(&format!("no lifeline: {why}"))
    }
    // SAFETY: sets flags of two descriptors that are ours; from here on the kernel kills us when the last write
    // end of the lifeline is closed.
    let failed = unsafe {
        libc::fcntl(CONTROL_FD, libc::F_SETFD, libc::FD_CLOEXEC) < 0
            || libc::fcntl(own.as_raw_fd(), libc::F_SETOWN, libc::getpid()) < 0
            || libc::fcntl(own.as_raw_fd(), F_SETSIG, libc::SIGKILL) < 0
            || libc::fcntl(own.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) < 0
    };
    if failed {
        give_up(&format!("no lifeline: {}", std::io::Error::last_os_error()));
    }
    // SIGQUIT ends a fake as any other signal does: it leaves no core file
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
    );
    // the scheduler may have gone before the lifeline was armed; then its socket says so
    (Channel::new(socket), own)
}

/// Waits for what the kernel has taken from the other side of a connection and not yet brought here.
fn settle(os: &RealOs, soon: &[u32]) {
    for descriptor in soon.iter().filter_map(|fd| os.fds.get(fd)) {
        await_loopback(descriptor.fd());
    }
}

fn announce(os: &mut RealOs, wait: Wait, state: Option<Vec<u8>>) -> Wait {
    let keys = |fds: &[Fd]| fds.iter().filter_map(|fd| Some((fd.0, os.key(fd.0)?))).collect();
    let waiting = Waiting {
        read: keys(&wait.read),
        write: keys(&wait.write),
        until: wait.until,
        child: wait.child,
        on: wait.on.to_owned(),
        stops: os.at_end.is_some(),
        fds: os.changed_fds(),
    };
    os.say_moved();
    if let Some(state) = state {
        say_state(os, &state);
    }
    os.say(Said::Waiting(waiting));
    os.send(None);
    if let Some(stop) = os.at_end.take() {
        os.do_stop(stop);
    }
    wait
}

/// Whether a pipe that it waits for has bytes, an end or room. The scheduler knows everything else better than the
/// kernel: ends of children, deadlines, what is unread in a connection, and how much a terminal takes, which is less
/// here than the kernel's own limit.
fn is_ready(os: &RealOs, wait: &Wait) -> bool {
    let is_pipe = |fd: &&Fd| matches!(os.key(fd.0), Some(Key::PipeRead(_) | Key::PipeWrite(_)));
    let there = |fds: &[Fd], what| {
        let pipes = fds.iter().filter(is_pipe).filter_map(|fd| os.fds.get(&fd.0));
        pipes.into_iter().any(|descriptor| is_there(descriptor.fd(), what))
    };
    there(&wait.read, PollFlags::IN) || there(&wait.write, PollFlags::OUT)
}

/// The largest state that is sent whole, in bytes; a larger one is sent as its SHA-256: an agent that never rests has a
/// state of many megabytes, and it is only compared.
const TOLD_WHOLE: usize = 4_096;

/// A state as it is sent, with a first byte that says which form it has.
fn told(state: Vec<u8>) -> Vec<u8> {
    match state.len() {
        ..=TOLD_WHOLE => [&[0], &state[..]].concat(),
        _ => [&[1], &Sha256::digest(&state)[..]].concat(),
    }
}

fn state_of(program: &dyn Program, now: VTime) -> Vec<u8> {
    let mut canon = Canon::new(now);
    program.canon(&mut canon);
    told(canon.into_bytes())
}

fn say_state(os: &mut RealOs, state: &[u8]) {
    os.say(Said::State);
    if let Some(scheduler) = &mut os.scheduler {
        scheduler.channel.put_raw(state);
    }
}

/// The shell of `tty-background`: it leads the session, owns the terminal's foreground, and started the agent in the
/// background. It ignores the signals of the keyboard. It takes no part in virtual time: it starts the agent, signals
/// and reaps it when it is told to, and dies of a hang-up when it is told to, because it first hangs up its job.
pub fn shell(programs: Programs) -> ! {
    let (mut channel, lifeline) = join();
    let mut dispositions = Signals::default();
    for sig in [Sig::Hup, Sig::Int, Sig::Quit, Sig::Tstp, Sig::Ttin, Sig::Ttou] {
        dispositions.set(sig, Disposition::Ignore);
    }
    let exe = CString::from(c"/proc/self/exe");
    loop {
        let Ok(Some(mut parcel)) = channel.receive() else { leave(1) };
        let job = match parcel.message::<Job>() {
            Ok(Some(job)) => job,
            _ => give_up("a job that nobody understands"),
        };
        let answer = match &job {
            Job::Start { argv, env } => {
                let Some(control) = parcel.fds.pop() else { give_up("an agent without a control socket") };
                let order = spawn::Order {
                    exe: &exe,
                    argv,
                    env,
                    streams: [0, 1, 2].map(spawn::Stream::Fd),
                    group: spawn::Group::Group,
                    terminal: None,
                    control: Some((control.as_raw_fd(), lifeline.as_raw_fd())),
                    ignored: &[],
                };
                let pid = match named::can_fork() {
                    true => fork::fork(&order, Parent::Own, programs, play_part),
                    false => spawn::spawn(&order),
                };
                let pid = pid.map_err(|e| JobError(machine::start(&e)));
                // the terminal comes to its end with the agent; it stays the controlling one of the session
                for fd in 0..3 {
                    // SAFETY: nothing here uses the standard descriptors from now on.
                    unsafe {
                        libc::close(fd);
                    }
                }
                pid
            }
            Job::Reap(pid) => reap(*pid).map_err(|e| JobError(e.to_string())),
            Job::Signal(group, number) => match Sig::from_number(*number) {
                Some(sig) => signals::send(-group, sig).map(|()| 0).map_err(|e| JobError(e.to_string())),
                None => Err(JobError(format!("{number} is no signal that a shell sends"))),
            },
            Job::HangUp => Ok(0),
        };
        let dies = matches!(job, Job::HangUp);
        channel.put(&answer);
        if channel.send(&[]).is_err() {
            leave(1);
        }
        if dies {
            dispositions.set(Sig::Hup, Disposition::Default);
            let _ = signals::send(std::process::id().cast_signed(), Sig::Hup);
        }
    }
}

/// The process from which the participants of all cells of a worker are forked, each as a child of the worker's, when it is
/// told to. It has loaded what they all are, and nothing else.
pub fn starter(programs: Programs, argv: &[String]) -> ! {
    let (mut channel, _lifeline) = join();
    named::prepare(argv);
    // asked here once: a virtual machine answers slowly, and what is forked inherits the answers
    #[cfg(target_arch = "x86_64")]
    let _ = std::arch::is_x86_feature_detected!("avx2");
    channel.put(&Said::Joined(if named::can_fork() { 0 } else { libc::ENOSYS }));
    let mut heard = channel.send(&[]).is_ok();
    while heard {
        let Ok(Some(mut parcel)) = channel.receive() else { leave(1) };
        let Ok(Some(begin)) = parcel.message::<Begin>() else { give_up("a start that nobody understands") };
        let begun = fork_for(begin, std::mem::take(&mut parcel.fds), programs);
        channel.put(&begun.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)));
        heard = channel.send(&[]).is_ok();
    }
    leave(1)
}

/// Forks a process; nothing that came along for it is open here when this returns.
fn fork_for(begin: Begin, fds: Vec<OwnedFd>, programs: Programs) -> std::io::Result<i32> {
    let mut sent = fds.iter().map(AsRawFd::as_raw_fd);
    let streams = begin.streams.map(|given| match given {
        Given::Sent => sent.next().map_or(spawn::Stream::Closed, spawn::Stream::Fd),
        Given::Null => spawn::Stream::Null,
        Given::Closed => spawn::Stream::Closed,
        Given::Open(path) => spawn::Stream::Open(path),
    });
    let (Some(control), Some(lifeline)) = (sent.next(), sent.next()) else { give_up("a start without a socket") };
    fork::fork(
        &spawn::Order {
            exe: &CString::default(),
            argv: &begin.argv,
            env: &begin.env,
            streams,
            group: spawn::Group::Session,
            terminal: begin.terminal.as_ref(),
            control: Some((control, lifeline)),
            ignored: &[],
        },
        Parent::Same,
        programs,
        play_part,
    )
}

fn reap(pid: i32) -> std::io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: `waitpid` writes one number.
        match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
            -1 => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ => return Ok(status),
        }
    }
}
