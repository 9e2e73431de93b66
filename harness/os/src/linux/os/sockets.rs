//! Sockets of a persona: on loopback, and at an address of the cell's own.
//!
//! Invariant: a connection that is accepted or made is known by its ports, on both sides.

use super::RealOs;
use crate::linux::descriptor::{self, Descriptor};
use crate::linux::process::give_up;
use crate::lockstep::protocol::{Key, Moved, Said, hash};
use crate::os::{BACKLOG, Errno, Fd, FdKind, Listen};
use rehang_processes::machine;
use rustix::net::{AddressFamily, SocketAddrV4, SocketFlags, SocketType};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

impl RealOs {
    pub(super) fn listen_as(&mut self, wish: Listen) -> Result<(Fd, u16), Errno> {
        let wish = match &self.scheduler {
            Some(scheduler) => Listen { address: scheduler.address, port: 0 },
            None => wish,
        };
        let (socket, port) = listen(wish).map_err(|e| self.unmeant("listening", e, machine::loopback))?;
        if self.scheduler.is_none()
            && let Err(missing) = machine::has_loopback()
        {
            // it would listen without it, but no connection would ever arrive
            give_up(&missing.to_string());
        }
        Ok((self.install(Descriptor::opened(socket, FdKind::Socket, Key::Listener(port))), port))
    }

    pub(super) fn take_connection(&mut self, fd: Fd) -> Option<Fd> {
        let descriptor = self.fds.get(&fd.0)?;
        let Key::Listener(port) = descriptor.key else { return None };
        let known = self.input.iter_mut().find(|input| input.key == descriptor.key);
        let is_there = known.is_some();
        if let Some(input) = known {
            input.left = input.left.checked_sub(1)?;
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let mut accepted = rustix::net::acceptfrom_with(descriptor.fd(), flags);
        if is_there && matches!(accepted, Err(rustix::io::Errno::AGAIN)) {
            descriptor::await_loopback(descriptor.fd());
            accepted = rustix::net::acceptfrom_with(descriptor.fd(), flags);
        }
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNABORTED) => return None,
            Err(error) => {
                self.unmeant("accepting", error, machine::open);
                return None;
            }
        };
        let peer = SocketAddrV4::try_from(peer?).ok()?;
        let listener = Key::Listener(port);
        if self.scheduler.is_some() {
            self.moved.entry(listener).or_default().read += 1;
        }
        Some(self.install(Descriptor::opened(socket, FdKind::Socket, Key::Server(peer.port(), port))))
    }

    pub(super) fn connect_to(&mut self, port: u16) -> Result<Fd, Errno> {
        let (socket, ours) = connect(self.address(), port).map_err(|error| match error {
            rustix::io::Errno::CONNREFUSED | rustix::io::Errno::CONNRESET => descriptor::errno(error),
            error => self.unmeant("connecting", error, machine::loopback),
        })?;
        // it may listen there itself: then there is one more to accept
        self.input.retain(|input| input.key != Key::Listener(port));
        Ok(self.install(Descriptor::opened(socket, FdKind::Socket, Key::Client(ours, port))))
    }

    pub(super) fn connect_to_nobody(&mut self, answer: &[u8]) -> Result<Fd, Errno> {
        // the scheduler never hears of the listener: it is outside the cell
        let at = Listen { address: self.address(), port: 0 };
        let (listener, port) = listen(at).map_err(|e| self.unmeant("listening", e, machine::loopback))?;
        let (socket, ours) =
            connect(self.address(), port).map_err(|e| self.unmeant("connecting", e, machine::loopback))?;
        let connection = Descriptor::opened(socket, FdKind::Socket, Key::Client(ours, port));
        if answer.is_empty() {
            return Ok(self.install(connection.beside(listener)));
        }
        // the server's end lives beside the client's, and nobody reads it
        let accepted = rustix::net::acceptfrom_with(&listener, SocketFlags::CLOEXEC);
        let server = accepted.map_err(|e| self.unmeant("accepting", e, machine::open))?.0;
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&server, answer));
        let wrote = written.map_err(|e| self.unmeant("answering", e, machine::loopback))? as u64;
        let key = connection.key;
        let fd = self.install(connection.beside(server));
        self.say(Said::Came(key, Moved { read: 0, wrote, hash: hash(0, answer) }));
        Ok(fd)
    }
}

/// A listening socket, and its port.
///
/// # Errors
/// The kernel's error.
pub fn listen(wish: Listen) -> rustix::io::Result<(OwnedFd, u16)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    // a port whose old connections are still in TIME_WAIT can be listened on
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    // those that are accepted inherit it (tcp(7) does not say so; Linux copies the socket)
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(wish.address, wish.port))?;
    rustix::net::listen(&socket, BACKLOG)?;
    let port = port_of(rustix::net::getsockname(&socket)?);
    Ok((socket, port))
}

/// A connection to a port of an address of loopback, and its own port. On loopback the kernel answers at once, whoever listens.
///
/// # Errors
/// The kernel's error.
pub fn connect(address: Ipv4Addr, port: u16) -> rustix::io::Result<(OwnedFd, u16)> {
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::io::retry_on_intr(|| rustix::net::connect(&socket, &SocketAddrV4::new(address, port)))?;
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    let ours = port_of(rustix::net::getsockname(&socket)?);
    Ok((socket, ours))
}

fn port_of(address: rustix::net::SocketAddrAny) -> u16 {
    SocketAddrV4::try_from(address).map_or(0, |a| a.port())
}
