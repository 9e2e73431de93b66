//! The scheduler's own ends: of pipes, terminals and connections.
//!
//! Invariant: the bytes that come out here are exactly those that were announced as written: what has nothing announced is
//! not read, and is looked at when it is closed. For a terminal [`super::tty`] checks that, because the line discipline
//! changes its bytes.

use super::LockstepKernel;
use super::objects::{Flow, inbound, opposite, outbound};
use super::table::Aim;
use super::tty::Master;
use crate::kernel::{Handle, InternalError, Proc};
use crate::linux::descriptor;
use crate::lockstep::protocol::{Input, Key};
use crate::os::{BACKLOG, Errno, FdKind, Listen, Read, Sig, Write};
use rehang_processes::machine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// How long the kernel may take to deliver over loopback what it has taken, in real time; after it the cell ends as an
/// internal error. On one machine without load it takes no time (0 misses in 160,000); a softirq can be delayed.
const LOOPBACK: Duration = Duration::from_secs(10);

/// One of the scheduler's descriptors.
#[derive(Debug)]
pub enum Own {
    /// An end of a pipe or a connection, or a listener.
    Plain {
        /// The descriptor itself.
        fd: OwnedFd,
        /// What it refers to.
        key: Key,
    },
    /// The master of a terminal.
    Master {
        /// Its master.
        master: Master,
        /// The session that the terminal controls.
        session: i32,
    },
}

impl LockstepKernel {
    pub(super) fn keep(&mut self, own: Own) -> Handle {
        if let Own::Plain { key, .. } = &own {
            self.ours.insert(*key);
        }
        self.handles.push(Some(own));
        Handle(u32::try_from(self.handles.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn own(&self, handle: Handle) -> Option<&Own> {
        self.handles.get(handle.0 as usize)?.as_ref()
    }

    /// What a participant holds if it has the other end of this.
    pub(super) fn other_end(&self, handle: Handle) -> Option<Key> {
        match self.own(handle)? {
            Own::Master { master, .. } => Some(Key::Tty(master.device)),
            Own::Plain { key, .. } => opposite(*key),
        }
    }

    /// What a participant can read in a turn, as far as nobody else writes it meanwhile, and nothing ends: of what it holds, and
    /// of the connections that wait at its listeners.
    pub(super) fn input_of(&self, proc: Proc) -> Vec<Input> {
        let mut all = Vec::new();
        let holds = &self.get(proc).holds;
        for &key in holds {
            match key {
                Key::Listener(port) => {
                    all.push(Input { key, left: self.objects.waiting(port) });
                    let accepted = self.objects.queue(key).into_iter().filter_map(opposite);
                    all.extend(accepted.filter_map(|key| self.input(key)));
                }
                // whoever else writes to it does nothing meanwhile
                Key::PipeRead(inode) => {
                    let writes = Key::PipeWrite(inode);
                    if self.objects.is_held(writes) && !holds.contains(&writes) {
                        all.push(Input { key, left: self.objects.inbound(key).map_or(0, Flow::left) });
                    }
                }
                key => all.extend(self.input(key)),
            }
        }
        all
    }

    /// What can be read of this connection, if nobody but the scheduler holds the other end; its own end, once closed, is not
    /// known.
    fn input(&self, key: Key) -> Option<Input> {
        let from = opposite(key).filter(|_| inbound(key).is_some())?;
        let is_alone = self.ours.contains(&from) && self.objects.holders(from) == 1;
        let flow = is_alone.then(|| self.objects.inbound(key)).flatten()?;
        Some(Input { key, left: flow.left() })
    }

    pub(super) fn read_own(&mut self, handle: Handle, max: usize) -> Result<Read, InternalError> {
        let (fd, key) = match self.own(handle) {
            None => return Ok(Read::Failed(Errno::BadFd)),
            Some(Own::Master { .. }) => return self.read_terminal(handle, max),
            Some(Own::Plain { fd, key }) => (fd.as_fd(), *key),
        };
        let Some(stream) = inbound(key) else { return Ok(Read::Failed(Errno::BadFd)) };
        if self.is_dry(key) {
            return Ok(Read::Later);
        }
        let mut read = descriptor::read(fd, max);
        let is_socket = !matches!(key, Key::PipeRead(_));
        if read == Read::Later && is_socket && self.is_soon(key) {
            await_input(fd)?;
            read = descriptor::read(fd, max);
        }
        let got = match &read {
            Read::Data(bytes) => bytes.len() as u64,
            _ => 0,
        };
        self.objects.epoch += u64::from(got > 0);
        let flow = self.objects.flow(stream);
        let (written, seen) = (flow.written, flow.read + got);
        let short = seen < written && matches!(read, Read::Later | Read::Eof);
        if seen > written || short {
            return Err(InternalError::Lie {
                role: self.writer_of(key),
                announced: format!("{written} bytes written"),
                seen: format!("{seen} bytes came out"),
            });
        }
        if got > 0 {
            // the bytes were just compared
            let _ = self.objects.moved(key, crate::lockstep::protocol::Moved { read: got, ..Default::default() });
        }
        Ok(read)
    }

    /// Whether there is nothing to read by what was announced, neither bytes nor an end. The end of a connection that nobody
    /// has accepted is not announced, once nobody can accept it any more.
    fn is_dry(&self, key: Key) -> bool {
        let is_open = match key {
            Key::Client(client, server) => {
                self.objects.is_held(Key::Server(client, server)) || self.objects.is_queued(client, server)
            }
            Key::Server(client, server) => self.objects.is_held(Key::Client(client, server)),
            _ => true,
        };
        is_open && self.objects.inbound(key).is_none_or(|flow| !flow.unread() && !flow.ended)
    }

    /// That what has nothing announced has nothing to read.
    ///
    /// # Errors
    /// It has.
    pub(super) fn is_as_announced(&self, own: &Own) -> Result<(), InternalError> {
        let (fd, key) = match own {
            Own::Plain { fd, key } if inbound(*key).is_some() && self.is_dry(*key) => (fd.as_fd(), *key),
            Own::Plain { .. } => return Ok(()),
            Own::Master { master, .. } => (master.fd(), Key::Tty(master.device)),
        };
        match descriptor::read(fd, 1) {
            Read::Data(_) => Err(InternalError::Lie {
                role: self.writer_of(key),
                announced: "nothing more written".to_owned(),
                seen: "more bytes came out".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The first participant that holds the other end.
    fn writer_of(&self, key: Key) -> String {
        let writes = |held: Key| match inbound(key) {
            None => held == key,
            stream => outbound(held) == stream,
        };
        let holder = self.processes.iter().find(|p| p.holds.iter().any(|&held| writes(held)));
        holder.or(self.processes.first()).map_or(String::new(), |p| p.role.clone())
    }

    pub(super) fn write_own(&mut self, handle: Handle, bytes: &[u8]) -> Result<Write, InternalError> {
        let (fd, key) = match self.own(handle) {
            None => return Ok(Write::Failed(Errno::BadFd)),
            Some(Own::Master { .. }) => return self.type_own(handle, bytes),
            Some(Own::Plain { fd, key }) => (fd.as_fd(), *key),
        };
        if outbound(key).is_none() {
            return Ok(Write::Failed(Errno::BadFd));
        }
        let kind = if matches!(key, Key::PipeWrite(_)) { FdKind::Pipe } else { FdKind::Socket };
        let bytes = &bytes[..bytes.len().min(self.objects.room(key))];
        if bytes.is_empty() {
            return Ok(Write::Later);
        }
        let written = descriptor::write(fd, bytes, kind);
        let took = match written {
            Write::Took(n) => n,
            Write::Later => 0,
            Write::Failed(_) => bytes.len(),
        };
        if kind == FdKind::Socket && took < bytes.len() {
            let what = "a connection on loopback".to_owned();
            return Err(InternalError::Short { what, took, bytes: bytes.len() });
        }
        if let Write::Took(n) = written {
            self.objects.wrote(key, &bytes[..n]);
        }
        Ok(written)
    }

    pub(super) fn close_own(&mut self, handle: Handle, reset: bool) -> Result<(), InternalError> {
        let Some(own) = self.handles.get_mut(handle.0 as usize).and_then(Option::take) else { return Ok(()) };
        self.is_as_announced(&own)?;
        self.objects.epoch += 1;
        match own {
            Own::Plain { fd, key } => {
                // if the other side is closed already, a reset spares it the wait for old packets (TIME_WAIT)
                let is_connection = matches!(key, Key::Client(..) | Key::Server(..));
                if is_connection && (reset || self.objects.inbound(key).is_some_and(|flow| flow.ended)) {
                    let _ = set_socket_linger(&fd, Some(Duration::ZERO));
                }
                drop(fd);
                self.ours.remove(&key);
                self.objects.release(key);
                Ok(())
            }
            Own::Master { master, session } => {
                let device = master.device;
                drop(master);
                self.terminal_is_hung_up(device);
                self.hang_up(session)
            }
        }
    }

    /// The kernel has hung a terminal up: HUP and CONT go to the session's leader, and from a shell to its job.
    fn hang_up(&mut self, session: i32) -> Result<(), InternalError> {
        let Some(controlled) = self.sessions.get_mut(&session) else { return Ok(()) };
        controlled.hung_up = true;
        let leader = self.all().find(|&p| self.get(p).pid == session && self.get(p).alive());
        let Some(leader) = leader else { return self.shell_dies(session) };
        self.follow(Aim::One(leader), Sig::Hup)?;
        match self.get(leader).alive() {
            true => self.follow(Aim::One(leader), Sig::Cont),
            false => Ok(()),
        }
    }

    pub(super) fn has_room_at(&self, port: u16) -> bool {
        self.objects.waiting(port) <= u64::from(BACKLOG.cast_unsigned())
    }

    pub(super) fn connect_own(&mut self, port: u16) -> Result<Result<Handle, Errno>, InternalError> {
        match crate::linux::connect(self.claim.address(), port) {
            Err(error @ (rustix::io::Errno::CONNREFUSED | rustix::io::Errno::CONNRESET)) => {
                Ok(Err(descriptor::errno(error)))
            }
            Err(error) => {
                Err(InternalError::Kernel { what: "connecting".into(), why: machine::loopback(&error.into()) })
            }
            Ok((fd, ours)) => {
                self.objects.connect(ours, port);
                Ok(Ok(self.keep(Own::Plain { fd, key: Key::Client(ours, port) })))
            }
        }
    }

    pub(super) fn listen_own(&mut self) -> Result<(Handle, u16), InternalError> {
        let (fd, port) = crate::linux::listen(Listen { address: self.claim.address(), port: 0 }).map_err(|e| {
            InternalError::Kernel { what: "listening on loopback".into(), why: machine::loopback(&e.into()) }
        })?;
        let key = Key::Listener(port);
        self.objects.hold(key);
        Ok((self.keep(Own::Plain { fd, key }), port))
    }

    pub(super) fn accept_own(&mut self, handle: Handle) -> Result<Option<Handle>, InternalError> {
        let Some(Own::Plain { fd, key: Key::Listener(port) }) = self.own(handle) else { return Ok(None) };
        let port = *port;
        if self.objects.waiting(port) == 0 {
            return Ok(None);
        }
        await_input(fd.as_fd())?;
        let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
        let accepted = rustix::net::acceptfrom_with(fd, flags);
        let (socket, peer) = match accepted {
            Ok((socket, Some(peer))) => (socket, peer),
            Ok((_, None)) => {
                return Err(InternalError::Kernel {
                    what: "accepting".into(),
                    why: "a connection from nowhere".into(),
                });
            }
            Err(error) => {
                return Err(InternalError::Kernel { what: "accepting".into(), why: machine::open(&error.into()) });
            }
        };
        let peer = SocketAddrV4::try_from(peer).map_or(0, |a| a.port());
        self.objects.accept(port);
        let key = Key::Server(peer, port);
        self.objects.hold(key);
        Ok(Some(self.keep(Own::Plain { fd: socket, key })))
    }
}

/// Waits for what the kernel has taken at the other end of a connection.
///
/// # Errors
/// It has not come within [`LOOPBACK`].
fn await_input(fd: BorrowedFd<'_>) -> Result<(), InternalError> {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let limit = Timespec { tv_sec: LOOPBACK.as_secs().cast_signed(), tv_nsec: 0 };
    match rustix::io::retry_on_intr(|| poll(&mut polled, Some(&limit))) {
        Ok(0) => {
            let why = format!("what was sent on loopback has not come within {} s", LOOPBACK.as_secs());
            Err(InternalError::Kernel { what: "reading a connection".into(), why })
        }
        Ok(_) => Ok(()),
        Err(error) => Err(InternalError::Kernel { what: "waiting for loopback".into(), why: error.to_string() }),
    }
}
