//! The model's server of a fake that runs alone, if the scenario's fault is on the model's stream: a process of its own, as
//! a real model's is.
//!
//! Invariants: it is no child of the agent: it is adopted as a daemon is, so that nobody who counts an agent's processes
//! finds it; it ends when the agent does, however that ends; it is reached by loopback alone. What it says and when
//! follows from the scenario and the agent's own clock.

use crate::stand_in::StandIn;
use rehang_scenario::{VTime, plan::Plan};
use rehang_wire::{
    http::RequestReader,
    model::{
        reply::{Asked, Reply},
        script::ModelScript,
    },
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, getpid, pidfd_open, setsid};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The name that the process is started under.
pub const NAME: &str = "rehang-model";

/// Starts the model's server of this process, which plays the file of the folder at `stand_in`; returns its port.
///
/// # Errors
/// No port, no process.
pub(crate) fn start(stand_in: &Path) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let agent = pidfd_open(getpid(), PidfdFlags::empty())?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0(NAME).arg(stand_in).env_clear().current_dir("/");
    // what it needs of its starter are its first two streams
    command.stdin(OwnedFd::from(listener)).stdout(agent).stderr(Stdio::null());
    let started = command.status()?;
    if started.success() { Ok(port) } else { Err(io::Error::other(format!("the model's server: {started}"))) }
}

/// Plays the server if this process was started as one, and does not return in that case.
pub fn dispatch() {
    let mut args = std::env::args_os();
    if args.next().is_none_or(|name| name != NAME) {
        return;
    }
    let played = args.next().map_or(Err(io::ErrorKind::InvalidInput.into()), |path| daemon(Path::new(&path)));
    std::process::exit(i32::from(played.is_err()));
}

/// Leaves the agent's session and its children; the first process ends once the second is there.
fn daemon(path: &Path) -> io::Result<()> {
    rustix::thread::set_name(c"rehang-model")?;
    let stand_in = StandIn::beside(path)?.ok_or(io::ErrorKind::NotFound)?;
    setsid()?;
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => serve(&stand_in),
        _ => Ok(()),
    }
}

/// A connection of the agent.
struct Connection {
    socket: TcpStream,
    reader: RequestReader,
    reply: Option<Reply>,
}

/// Serves until the agent ends.
fn serve(stand_in: &StandIn) -> io::Result<()> {
    let StandIn { plan: Plan { turns, faults, .. }, speed, .. } = stand_in;
    let (listener, agent) = (TcpListener::from(rustix::io::dup(rustix::stdio::stdin())?), rustix::stdio::stdout());
    // a connection that is gone before it is taken must not keep it
    listener.set_nonblocking(true)?;
    let (began, mut script) = (Instant::now(), ModelScript::new(faults));
    let now = || {
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        VTime(ms.saturating_mul(u64::from(*speed)))
    };
    let mut open: Vec<Connection> = Vec::new();
    loop {
        let deadline = open.iter().filter_map(|connection| connection.reply.as_ref()?.deadline()).min();
        let wait = deadline.map(|at| timespec(at.since(now()).as_ms().div_ceil(u64::from(*speed))));
        let mut polled = vec![PollFd::new(&agent, PollFlags::IN), PollFd::new(&listener, PollFlags::IN)];
        polled.extend(open.iter().map(|connection| PollFd::new(&connection.socket, PollFlags::IN)));
        // interrupted or not: what has come is read
        let _ = poll(&mut polled, wait.as_ref());
        let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        if ready[0] {
            return Ok(());
        }
        for at in (0..open.len()).rev().filter(|at| ready[at + 2]) {
            let asked = open[at].hears();
            match asked {
                Ok(Some(asked)) => open[at].reply = Some(Reply::begin(&mut script, turns, &asked, now())),
                Ok(None) => {}
                Err(_) => drop(open.remove(at)),
            }
        }
        if ready[1] {
            match listener.accept() {
                Ok((socket, _)) => open.push(Connection { socket, reader: RequestReader::new(), reply: None }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        open.retain_mut(|connection| connection.sends(now()).is_ok_and(|open| open));
    }
}

fn timespec(ms: u64) -> Timespec {
    Timespec { tv_sec: (ms / 1_000).cast_signed(), tv_nsec: (ms % 1_000 * 1_000_000).cast_signed() }
}

impl Connection {
    /// Reads what has come; returns what is asked, once the request is whole.
    ///
    /// # Errors
    /// The other side is gone.
    fn hears(&mut self) -> io::Result<Option<Asked>> {
        let mut bytes = vec![0; 65_536];
        match self.socket.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => self.reader.feed(&bytes[..n]),
        }
        let request = if self.reply.is_none() { self.reader.next_message().ok().flatten() } else { None };
        Ok(request.map(|request| Asked::of(&request.head)))
    }

    /// Sends what is due; returns whether the connection stays open.
    fn sends(&mut self, now: VTime) -> io::Result<bool> {
        let Some(reply) = &mut self.reply else { return Ok(true) };
        for sent in reply.poll(now) {
            self.socket.write_all(&sent.bytes)?;
            if let Some(reset) = sent.closes {
                if reset {
                    // closed with what is unsent thrown away
                    rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO))?;
                }
                return Ok(false);
            }
        }
        Ok(true)
    }
}
