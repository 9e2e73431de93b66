//! The rows of pipes.

use super::real::{is_ready, read, write};
use super::{Row, shown};
use crate::sim::pipe::Pipe;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::os::fd::{AsFd, OwnedFd};

/// An operation on a pipe.
enum Do {
    /// One write of this many bytes.
    Write(usize),
    /// Writes of this many bytes each, until it is full; the result is the sum that it took.
    Fill(usize),
    /// One read of at most this many bytes.
    Read(usize),
    /// Whether `poll` calls it writable.
    Out,
    /// Whether `poll` calls it readable.
    In,
    /// The last reader closes.
    NoReader,
    /// The last writer closes.
    NoWriter,
}

trait Ends {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno>;
    fn read(&mut self, max: usize) -> Result<Vec<u8>, Errno>;
    fn is_writable(&self) -> bool;
    fn is_readable(&self) -> bool;
    fn shut(&mut self, reader: bool);
}

struct Real {
    reader: Option<OwnedFd>,
    writer: Option<OwnedFd>,
}

impl Ends for Real {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        write(self.writer.as_ref().unwrap().as_fd(), bytes)
    }

    fn read(&mut self, max: usize) -> Result<Vec<u8>, Errno> {
        read(self.reader.as_ref().unwrap().as_fd(), max)
    }

    fn is_writable(&self) -> bool {
        is_ready(self.writer.as_ref().unwrap().as_fd(), PollFlags::OUT)
    }

    fn is_readable(&self) -> bool {
        is_ready(self.reader.as_ref().unwrap().as_fd(), PollFlags::IN)
    }

    fn shut(&mut self, reader: bool) {
        drop(if reader { self.reader.take() } else { self.writer.take() });
    }
}

impl Ends for Pipe {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match Pipe::write(self, bytes) {
            _ if self.readers == 0 => Err(Errno::PIPE),
            0 => Err(Errno::AGAIN),
            n => Ok(n),
        }
    }

    fn read(&mut self, max: usize) -> Result<Vec<u8>, Errno> {
        let bytes = Pipe::read(self, max);
        if bytes.is_empty() && self.writers > 0 { Err(Errno::AGAIN) } else { Ok(bytes) }
    }

    fn is_writable(&self) -> bool {
        self.writable()
    }

    fn is_readable(&self) -> bool {
        self.readable()
    }

    fn shut(&mut self, reader: bool) {
        if reader {
            self.readers = 0;
        } else {
            self.writers = 0;
        }
    }
}

fn error(error: Errno) -> String {
    match error {
        Errno::AGAIN => "EAGAIN".into(),
        Errno::PIPE => "EPIPE".into(),
        error => error.to_string(),
    }
}

fn gives(ends: &mut dyn Ends, what: &Do) -> String {
    let block = |n: usize| vec![b'x'; n];
    match what {
        Do::Write(n) => ends.write(&block(*n)).map_or_else(error, |n| n.to_string()),
        Do::Fill(n) => {
            let mut total = 0;
            while let Ok(took) = ends.write(&block(*n)) {
                total += took;
            }
            total.to_string()
        }
        Do::Read(max) => ends.read(*max).map_or_else(error, |bytes| match bytes.len() {
            0 => "the end".into(),
            _ => shown(&bytes),
        }),
        Do::Out => ends.is_writable().to_string(),
        Do::In => ends.is_readable().to_string(),
        Do::NoReader | Do::NoWriter => {
            ends.shut(matches!(what, Do::NoReader));
            "done".into()
        }
    }
}

fn said(what: &Do) -> String {
    match what {
        Do::Write(n) => format!("write {n}"),
        Do::Fill(n) => format!("write by {n} until it is full"),
        Do::Read(n) => format!("read {n}"),
        Do::Out => "POLLOUT".into(),
        Do::In => "POLLIN".into(),
        Do::NoReader => "close the read end".into(),
        Do::NoWriter => "close the write end".into(),
    }
}

fn row(name: &'static str, script: &[Do]) -> Row {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    assert_eq!(rustix::pipe::fcntl_setpipe_size(&writer, 65_536), Ok(65_536));
    let mut real = Real { reader: Some(reader), writer: Some(writer) };
    let mut model = Pipe::default();
    (model.readers, model.writers) = (1, 1);
    let done = script.iter().map(said).collect::<Vec<_>>().join(", ");
    let linux: Vec<String> = script.iter().map(|what| gives(&mut real, what)).collect();
    let model: Vec<String> = script.iter().map(|what| gives(&mut model, what)).collect();
    Row { name, done, linux: format!("→ {}", linux.join(", ")), model: format!("→ {}", model.join(", ")) }
}

pub fn rows() -> Vec<Row> {
    use Do::*;
    vec![
        row("a pipe holds sixteen pages", &[Fill(4_096), Out, Write(1)]),
        row("writes of just over half a page waste the rest", &[Fill(2_049)]),
        row("writes of 3,000 bytes", &[Fill(3_000)]),
        row("writes of just over a page", &[Fill(4_097)]),
        row("single bytes fill it to the last", &[Fill(1), Out]),
        row("one byte read of a full pipe makes no room", &[Fill(4_096), Read(1), Out, Write(1)]),
        row("a page read makes room for a page", &[Fill(4_096), Read(4_096), Out, Write(5_000), Write(1)]),
        row("a write over PIPE_BUF is taken in part", &[Write(61_440), Write(8_192), Out]),
        row("a write up to PIPE_BUF is whole or not at all", &[Write(61_441), Write(4_096), Write(4_095)]),
        row("a begun page is filled by what fits", &[Write(100), Write(3_996), Write(61_440), Write(1)]),
        row("an empty pipe", &[In, Read(10), Out]),
        row("a read takes over the ends of writes", &[Write(3), Write(4), Read(5), Read(5)]),
        row("the last writer's end", &[Write(3), NoWriter, In, Read(10), Read(10)]),
        row("no reader: EPIPE, and writable", &[NoReader, Out, Write(1)]),
    ]
}
