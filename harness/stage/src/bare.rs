//! What the same processes cost without a scheduler: spawn, first output, end, reap. The floor that a cell of
//! lockstep is measured against.
//!
//! Invariant: the fakes run alone, on the wall clock, on the same kind of stream and with the same command line.

use rehang_os::linux::spawn::{Group, Order, Stream, spawn};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that is run without a scheduler.
pub struct Bare {
    exe: CString,
    argv: Vec<String>,
    env: Vec<(String, String)>,
}

/// How long one run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Took {
    /// From the start of the spawn until the process was reaped.
    pub whole: Duration,
}

impl Bare {
    /// The fakes' binary with this command line.
    ///
    /// # Errors
    /// A path with a NUL byte.
    pub fn new(fakes: &Path, argv: &[String], env: &[(String, String)]) -> std::io::Result<Bare> {
        let exe = CString::new(fakes.as_os_str().as_encoded_bytes())?;
        Ok(Bare { exe, argv: argv.to_vec(), env: env.to_vec() })
    }

    /// Runs it on pipes (or a terminal), reads its output to the end, reaps it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn run(&self, tty: bool) -> std::io::Result<Took> {
        let began = Instant::now();
        let (mut output, pid) = if tty { self.on_a_terminal()? } else { self.on_pipes()? };
        let mut buffer = [0; 4096];
        // the end of a terminal is EIO, that of a pipe is 0
        while output.read(&mut buffer).is_ok_and(|n| n > 0) {}
        reap(pid)?;
        Ok(Took { whole: began.elapsed() })
    }

    fn on_pipes(&self) -> std::io::Result<(File, i32)> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let stream = Stream::Fd(write.as_raw_fd());
        let pid = self.start([Stream::Null, stream.clone(), stream], None)?;
        drop(write);
        Ok((File::from(read), pid))
    }

    fn on_a_terminal(&self) -> std::io::Result<(File, i32)> {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = ptsname(&master, Vec::new())?;
        let pid = self.start([0; 3].map(|_| Stream::Open(slave.clone())), Some(&slave))?;
        Ok((File::from(master), pid))
    }

    fn start(&self, streams: [Stream; 3], terminal: Option<&CString>) -> std::io::Result<i32> {
        spawn(&Order {
            exe: &self.exe,
            argv: &self.argv,
            env: &self.env,
            streams,
            group: Group::Session,
            terminal,
            control: None,
            ignored: &[],
        })
    }

    /// Runs a server: waits for its port, sends the `first` requests once and another this many times, each on a
    /// connection of its own, and ends it.
    ///
    /// # Errors
    /// The kernel's error; a server that names no port.
    pub fn serve(&self, first: &[Vec<u8>], each: &[u8], count: u32) -> std::io::Result<Took> {
        let began = Instant::now();
        let (mut output, pid) = self.on_pipes()?;
        let mut text = String::new();
        let port = loop {
            let mut buffer = [0; 4096];
            let n = output.read(&mut buffer)?;
            if n == 0 {
                reap(pid)?;
                return Err(std::io::Error::other(format!("no port in {text:?}")));
            }
            text.push_str(&String::from_utf8_lossy(&buffer[..n]));
            if let Some(port) = crate::scheduler::port_in(&text).filter(|_| text.ends_with('\n')) {
                break port;
            }
        };
        let count = usize::try_from(count).map_err(std::io::Error::other)?;
        for request in first.iter().map(Vec::as_slice).chain(std::iter::repeat_n(each, count)) {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            reset_on_close(&stream)?;
            stream.write_all(request)?;
            let mut reader = rehang_wire::http::ResponseReader::new();
            let mut buffer = [0; 65_536];
            while reader.next_message().map_err(std::io::Error::other)?.is_none() {
                let n = stream.read(&mut buffer)?;
                if n == 0 {
                    break;
                }
                reader.feed(&buffer[..n]);
            }
        }
        // SAFETY: ends the process that was started above and has not been reaped.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        reap(pid)?;
        Ok(Took { whole: began.elapsed() })
    }
}

/// The processor time that this thread has used.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Closes with a reset, as the scheduler does: nothing lingers in TIME_WAIT.
fn reset_on_close(stream: &TcpStream) -> std::io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?)
}

fn reap(pid: i32) -> std::io::Result<()> {
    // SAFETY: a pidfd of a child that this process started and has not reaped.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if raw < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let raw = i32::try_from(raw).map_err(std::io::Error::other)?;
    // SAFETY: the descriptor was just opened and has no other owner.
    let pidfd = unsafe { OwnedFd::from_raw_fd(raw) };
    use std::os::fd::AsFd;
    rustix::process::waitid(rustix::process::WaitId::PidFd(pidfd.as_fd()), rustix::process::WaitIdOptions::EXITED)?;
    Ok(())
}
