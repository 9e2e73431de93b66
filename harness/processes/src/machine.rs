//! What a machine may refuse, and what its user can do about it.
//!
//! Invariant: an error of the kernel that no scenario intends reaches the user with its remedy, and is never played as
//! if the scenario had asked for it.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;

const PROCESSES: &str = "raise the limit of processes and threads (ulimit -u; pids.max of the cgroup)";
const FILES: &str = "raise the limit of open files (ulimit -n; fs.file-max)";
const MEMORY: &str = "free memory, or allow more (ulimit -v; memory.max of the cgroup; vm.overcommit_memory)";
const ARGUMENTS: &str =
    "raise the stack limit (ulimit -s 8192): a quarter of it is there for arguments and environment";
const LOOPBACK: &str = "bring the loopback interface up (ip link set lo up)";
const TERMINALS: &str = "mount /dev/pts, and raise the number of terminals (kernel.pty.max; the option max= of devpts)";
const PIPES: &str = "raise fs.pipe-user-pages-soft (64 KiB a pipe)";
const PROC: &str = "mount /proc (mount -t proc proc /proc)";

/// The remedy for an error that has no particular call as its cause.
fn general(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => Some(FILES),
        Some(libc::ENOMEM | libc::ENOBUFS) => Some(MEMORY),
        _ => None,
    }
}

fn with(error: &io::Error, remedy: Option<&str>) -> String {
    match remedy {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    }
}

/// The remedy if the machine is out of open files or memory, whatever was asked of it.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    general(error)
}

/// The remedy if a process or a thread could not be started because of the machine, and not because of the program.
pub fn remedy_of_start(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Some(PROCESSES),
        Some(libc::E2BIG) => Some(ARGUMENTS),
        Some(libc::ENOENT) if has_proc().is_err() => Some(PROC),
        Some(libc::ENOENT) if !Path::new("/dev/null").exists() => Some("a /dev with null in it is needed"),
        _ => general(error),
    }
}

/// Why a process or a thread could not be started, with the remedy.
pub fn start(error: &io::Error) -> String {
    with(error, remedy_of_start(error))
}

/// Why a program of the user's could not be started, with what to do about it.
pub fn program(program: &str, error: &io::Error) -> String {
    let path = Path::new(program);
    let why = match error.raw_os_error() {
        _ if remedy_of_start(error).is_some() => start(error),
        Some(libc::EACCES) if path.is_dir() => "it is a folder; name the program in it".to_owned(),
        Some(libc::EACCES) => format!("{error}; make it executable (chmod +x), or start it with its interpreter"),
        Some(libc::ENOENT) if program.contains('/') && path.exists() => {
            "its interpreter does not exist: see its first line (`#!`)".to_owned()
        }
        Some(libc::ENOENT) => "there is no such program; give its path, or the name of one on PATH".to_owned(),
        Some(libc::ENOEXEC) => format!("{error}; its first line must name its interpreter (`#!/bin/sh`)"),
        _ => error.to_string(),
    };
    format!("{program}: {why}")
}

/// Why a descriptor could not be opened or passed on, with the remedy.
pub fn open(error: &io::Error) -> String {
    with(error, general(error))
}

/// Why a pipe of the stage's size could not be made, with the remedy.
pub fn pipe(error: &io::Error) -> String {
    // a user over the soft limit gets smaller ones (EPERM if it asks for more), which an errno alone does not say
    with(error, general(error).or(Some(PIPES)))
}

/// Why there is no terminal, with the remedy.
pub fn terminal(error: &io::Error) -> String {
    with(error, general(error).or(Some(TERMINALS)))
}

/// Why loopback could not be reached or listened on, with the remedy.
pub fn loopback(error: &io::Error) -> String {
    let down = matches!(error.raw_os_error(), Some(libc::ENETUNREACH | libc::EADDRNOTAVAIL | libc::ENETDOWN));
    with(error, general(error).or(down.then_some(LOOPBACK)))
}

/// What the machine lacks, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// The loopback interface is down.
    #[error("loopback cannot be reached: {}", loopback(.0))]
    Loopback(io::Error),
    /// `/proc` is not mounted, or does not show this process.
    #[error("there is no /proc, and this needs it; {PROC}")]
    Proc,
}

/// Whether loopback is up. Sends no packet: connecting a datagram socket only looks up the route.
///
/// # Errors
/// Loopback is down.
pub fn has_loopback() -> Result<(), Missing> {
    let route = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| socket.connect((Ipv4Addr::LOCALHOST, 9)));
    route.map_err(Missing::Loopback)
}

/// Whether `/proc` is mounted and shows this process.
///
/// # Errors
/// It is not mounted, or does not show this process.
pub fn has_proc() -> Result<(), Missing> {
    match rustix::fs::readlink("/proc/self", Vec::new()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Missing::Proc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_own_remedy() {
        let errno = io::Error::from_raw_os_error;
        assert!(start(&errno(libc::EAGAIN)).contains("ulimit -u"));
        assert!(start(&errno(libc::E2BIG)).contains("ulimit -s"));
        assert!(start(&errno(libc::EMFILE)).contains("ulimit -n"));
        assert_eq!(start(&errno(libc::EACCES)), errno(libc::EACCES).to_string());
        assert!(open(&errno(libc::ENFILE)).contains("ulimit -n"));
        // EAGAIN of an open is not a limit of processes
        assert_eq!(open(&errno(libc::EAGAIN)), errno(libc::EAGAIN).to_string());
        assert!(loopback(&errno(libc::ENETUNREACH)).contains("ip link set lo up"));
        assert_eq!(loopback(&errno(libc::EACCES)), errno(libc::EACCES).to_string());
        assert!(terminal(&errno(libc::ENOSPC)).contains("kernel.pty.max"));
        assert!(terminal(&errno(libc::EMFILE)).contains("ulimit -n"));
        assert!(pipe(&errno(libc::EPERM)).contains("fs.pipe-user-pages-soft"));
        for (name, code, said) in [
            ("/proc", libc::EACCES, "is a folder"),
            ("/proc/self/status", libc::EACCES, "chmod +x"),
            ("/proc/self/status", libc::ENOENT, "its interpreter"),
            ("./nosuch", libc::ENOENT, "no such program"),
            ("/proc/self/status", libc::EAGAIN, "ulimit -u"),
        ] {
            assert!(program(name, &errno(code)).contains(said), "{name} {code}");
        }
    }
}
