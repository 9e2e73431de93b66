//! The rows of connections over loopback.

use super::real::{comes, is_ready, read, write};
use super::{Row, shown};
use crate::kernel::{Handle, Kernel};
use crate::os::{Errno as Error, Read, Write};
use crate::sim::SimKernel;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// An operation of one end: `false` is the end that connected, `true` the end that accepted.
enum Do {
    /// It writes this text.
    Write(bool, &'static str),
    /// It reads; `true`: something is to come.
    Read(bool, bool),
    /// It is closed.
    Close(bool),
    /// It is reset.
    Reset(bool),
}

struct Model {
    kernel: SimKernel,
    ends: [Handle; 2],
}

impl Model {
    fn gives(&mut self, what: &Do) -> Option<String> {
        let end = |side: &bool| self.ends[usize::from(*side)];
        match what {
            Do::Write(side, text) => Some(match self.kernel.write(end(side), text.as_bytes()).unwrap() {
                Write::Took(n) => n.to_string(),
                Write::Later => "EAGAIN".into(),
                Write::Failed(error) => format!("{error:?}"),
            }),
            Do::Read(side, _) => Some(match self.kernel.read(end(side), 100).unwrap() {
                Read::Data(bytes) => shown(&bytes),
                Read::Eof => "the end".into(),
                Read::Later => "EAGAIN".into(),
                Read::Failed(error) => format!("{error:?}"),
            }),
            Do::Close(side) => {
                self.kernel.close(end(side), false).unwrap();
                None
            }
            Do::Reset(side) => {
                self.kernel.close(end(side), true).unwrap();
                None
            }
        }
    }
}

fn error(error: Errno) -> String {
    match error {
        Errno::AGAIN => "EAGAIN".into(),
        // to a persona they are the same (see `descriptor::write`)
        Errno::CONNRESET | Errno::PIPE => format!("{:?}", Error::Reset),
        error => error.to_string(),
    }
}

fn really(ends: &mut [Option<OwnedFd>; 2], what: &Do) -> Option<String> {
    match what {
        Do::Write(side, text) => {
            let fd = ends[usize::from(*side)].as_ref().unwrap().as_fd();
            let gave = write(fd, text.as_bytes());
            if gave.is_ok() && ends[usize::from(!*side)].is_none() {
                comes(fd, PollFlags::HUP);
            }
            Some(gave.map_or_else(error, |n| n.to_string()))
        }
        Do::Read(side, awaited) => {
            let fd = ends[usize::from(*side)].as_ref().unwrap().as_fd();
            if *awaited {
                comes(fd, PollFlags::IN);
            }
            Some(read(fd, 100).map_or_else(error, |bytes| match bytes.is_empty() {
                true => "the end".into(),
                false => shown(&bytes),
            }))
        }
        Do::Close(side) => {
            let other = ends[usize::from(!*side)].as_ref().map(|fd| fd.try_clone().unwrap());
            drop(ends[usize::from(*side)].take());
            // the other end is told at once, but perhaps on another processor
            if let Some(other) = other {
                comes(other.as_fd(), PollFlags::RDHUP | PollFlags::HUP);
            }
            None
        }
        Do::Reset(side) => {
            let fd = ends[usize::from(*side)].take().unwrap();
            rustix::net::sockopt::set_socket_linger(&fd, Some(Duration::ZERO)).unwrap();
            let other = ends[usize::from(!*side)].as_ref().unwrap().as_fd();
            drop(fd);
            comes(other, PollFlags::HUP);
            None
        }
    }
}

fn said(what: &Do) -> String {
    let name = |side: &bool| if *side { "the server" } else { "the client" };
    match what {
        Do::Write(side, text) => format!("{} writes {text:?}", name(side)),
        Do::Read(side, _) => format!("{} reads", name(side)),
        Do::Close(side) => format!("{} closes", name(side)),
        Do::Reset(side) => format!("{} resets", name(side)),
    }
}

fn row(name: &'static str, script: &[Do]) -> Row {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    for end in [&client, &server] {
        end.set_nonblocking(true).unwrap();
        end.set_nodelay(true).unwrap();
    }
    let mut real = [Some(OwnedFd::from(client)), Some(OwnedFd::from(server))];
    let mut kernel = SimKernel::new(super::idler);
    let (listening, port) = kernel.listen().unwrap();
    let client = kernel.connect(port).unwrap().unwrap();
    let server = kernel.accept(listening).unwrap().unwrap();
    let mut model = Model { kernel, ends: [client, server] };
    let done = script.iter().map(said).collect::<Vec<_>>().join(", ");
    let linux: Vec<String> = script.iter().filter_map(|what| really(&mut real, what)).collect();
    let model: Vec<String> = script.iter().filter_map(|what| model.gives(what)).collect();
    Row { name, done, linux: format!("→ {}", linux.join(", ")), model: format!("→ {}", model.join(", ")) }
}

/// Nobody listens any more where a process did.
fn refused() -> Row {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let linux = TcpStream::connect(address).map_or_else(|error| format!("{:?}", error.kind()), |_| "connected".into());
    let mut kernel = SimKernel::new(super::idler);
    let (listening, port) = kernel.listen().unwrap();
    kernel.close(listening, false).unwrap();
    let model = match kernel.connect(port).unwrap() {
        Err(Error::Refused) => "ConnectionRefused".into(),
        other => format!("{other:?}"),
    };
    Row { name: "nobody listens", done: "connect".into(), linux, model }
}

/// A listener is closed before it has accepted.
fn unaccepted() -> Row {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_nonblocking(true).unwrap();
    drop(listener);
    comes(client.as_fd(), PollFlags::HUP);
    assert!(is_ready(client.as_fd(), PollFlags::IN));
    let linux = read(client.as_fd(), 100).map_or_else(error, |bytes| shown(&bytes));
    let mut kernel = SimKernel::new(super::idler);
    let (listening, port) = kernel.listen().unwrap();
    let client = kernel.connect(port).unwrap().unwrap();
    kernel.close(listening, false).unwrap();
    let model = match kernel.read(client, 100).unwrap() {
        Read::Failed(error) => format!("{error:?}"),
        other => format!("{other:?}"),
    };
    let done = "connect, the listener closes, the client reads".into();
    Row {
        name: "a connection that nobody accepted is reset",
        done,
        linux: format!("→ {linux}"),
        model: format!("→ {model}"),
    }
}

pub fn rows() -> Vec<Row> {
    use Do::*;
    let (client, server) = (false, true);
    vec![
        row("bytes arrive", &[Read(server, false), Write(client, "ab"), Read(server, true), Read(server, false)]),
        row("writes come together", &[Write(client, "ab"), Write(client, "c"), Close(client), Read(server, true)]),
        row(
            "a close is the end, after what was written",
            &[Write(client, "ab"), Close(client), Read(server, true), Read(server, true)],
        ),
        row(
            "the first write to a closed end is taken, the next is reset",
            &[Close(client), Write(server, "a"), Read(server, true), Write(server, "b")],
        ),
        row(
            "a close with unread bytes is a reset",
            &[Write(server, "ab"), Read(client, true), Write(server, "c"), Close(client), Read(server, true)],
        ),
        row("a reset is seen once, then the end", &[Reset(client), Read(server, true), Read(server, true)]),
        row("a write to an end that was reset", &[Reset(client), Write(server, "a")]),
        refused(),
        unaccepted(),
    ]
}
