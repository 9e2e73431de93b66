//! The supervisor's namespaces: user, network, IPC and host name; and the sandbox's PID namespace.
//!
//! Invariant: whether root starts it or not, the agent's side is the same: user 1000 without a capability, on a network
//! that has loopback alone.

use super::{AGENT_ID, NOBODY_ID, SandboxError, step};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Gid, Pid, Uid, fork};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;

/// Has the kernel kill this process when its parent ends; ends it at once if the parent has ended already.
///
/// A change of credentials clears this: it has to be set again after one.
///
/// # Errors
/// The kernel's.
pub fn die_with_parent(parent: u32) -> Result<(), SandboxError> {
    step("dying with the parent", nix::sys::prctl::set_pdeathsig(Signal::SIGKILL))?;
    if Pid::parent().as_raw().cast_unsigned() != parent {
        std::process::exit(1);
    }
    Ok(())
}

/// Goes into new namespaces and brings loopback up.
///
/// # Errors
/// What the kernel refuses, with a remedy.
pub fn enter() -> Result<(), SandboxError> {
    let (uid, gid) = (Uid::effective(), Gid::effective());
    let helper = if uid.is_root() { Some(MapsWriter::start()?) } else { None };
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| refused("a user namespace", errno.into(), remedy_for(errno)))?;
    match helper {
        Some(helper) => helper.write()?,
        None => {
            let put = |file: &str, text: String| {
                step(format!("writing {file}"), std::fs::write(format!("/proc/self/{file}"), text))
            };
            put("setgroups", "deny".to_owned())?;
            put("uid_map", format!("{AGENT_ID} {uid} 1"))?;
            put("gid_map", format!("{AGENT_ID} {gid} 1"))?;
        }
    }
    let rest = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    unshare(rest).map_err(|errno| refused("a network namespace", errno.into(), remedy_for(errno)))?;
    name_host()?;
    loopback_up()
}

/// Forks the first process of a new PID namespace. A supervisor that unshared it instead could no longer start threads.
///
/// # Errors
/// The kernel's.
///
/// # Safety
/// As `fork`: this process has one thread.
pub(super) unsafe fn fork_first() -> nix::Result<ForkResult> {
    let flags = libc::c_long::from(libc::CLONE_NEWPID | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: without a stack of its own the child goes on as after a fork; no other option is set.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    match nix::errno::Errno::result(pid)? {
        0 => Ok(ForkResult::Child),
        pid => Ok(ForkResult::Parent { child: Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)) }),
    }
}

/// The links of this process's network namespace.
///
/// # Errors
/// `/proc` cannot be read.
pub fn links() -> std::io::Result<Vec<String>> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let name = |line: &str| line.split_once(':').map(|(name, _)| name.trim().to_owned());
    let mut links: Vec<String> = text.lines().filter_map(name).collect();
    links.sort();
    Ok(links)
}

fn refused(what: &'static str, error: std::io::Error, remedy: &'static str) -> SandboxError {
    SandboxError::Refused { what, error, remedy }
}

fn remedy_for(errno: nix::Error) -> &'static str {
    match errno {
        nix::Error::ENOSPC => "raise it: sysctl user.max_user_namespaces=10000",
        nix::Error::EINVAL | nix::Error::ENOSYS => "the kernel has none; use one with CONFIG_USER_NS",
        _ => {
            "allow it: sysctl kernel.unprivileged_userns_clone=1 (Debian) or \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container, run it with \
             --privileged or --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
        }
    }
}

/// Starts a process that stays outside of the user namespace: only there root may map a second user.
struct MapsWriter {
    pid: Pid,
    go: std::io::PipeWriter,
    done: std::io::PipeReader,
}

impl MapsWriter {
    fn start() -> Result<MapsWriter, SandboxError> {
        let (mut told, go) = step("a pipe", std::io::pipe())?;
        let (done, mut tell) = step("a pipe", std::io::pipe())?;
        let target = std::process::id();
        // SAFETY: this process has one thread.
        match step("a process that maps users", unsafe { fork() })? {
            ForkResult::Parent { child } => Ok(MapsWriter { pid: child, go, done }),
            ForkResult::Child => {
                drop(go);
                let maps = format!("0 0 1\n{AGENT_ID} {NOBODY_ID} 1\n");
                let mut byte = [0];
                let written = told.read_exact(&mut byte).and_then(|()| {
                    std::fs::write(format!("/proc/{target}/uid_map"), &maps)?;
                    std::fs::write(format!("/proc/{target}/gid_map"), &maps)
                });
                let errno = written.err().and_then(|e| e.raw_os_error()).unwrap_or(0);
                let _ = tell.write_all(&errno.to_ne_bytes());
                // SAFETY: ends this process; nothing of the parent's is run twice.
                unsafe { libc::_exit(0) }
            }
        }
    }

    fn write(mut self) -> Result<(), SandboxError> {
        let mut errno = [0; 4];
        let asked = self.go.write_all(&[1]).and_then(|()| self.done.read_exact(&mut errno));
        let _ = nix::sys::wait::waitpid(self.pid, None);
        step("mapping users", asked)?;
        match i32::from_ne_bytes(errno) {
            0 => Ok(()),
            errno => step("mapping users", Err(std::io::Error::from_raw_os_error(errno))),
        }
    }
}

fn name_host() -> Result<(), SandboxError> {
    let name = b"rehang";
    // SAFETY: the name outlives the call, and the length is its own.
    let result = unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) };
    match result {
        0 => Ok(()),
        _ => step("naming the host", Err(std::io::Error::last_os_error())),
    }
}

/// Sets `lo` up, as `ip link set lo up` does.
fn loopback_up() -> Result<(), SandboxError> {
    let socket = step("a socket", std::net::UdpSocket::bind("0.0.0.0:0"))?;
    // SAFETY: all zeroes is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = i16::try_from(up).unwrap_or(libc::IFF_UP as i16);
    // SAFETY: the request outlives the call, which reads and writes no more than an `ifreq`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) };
    match result {
        0 => Ok(()),
        _ => {
            let remedy = "in a container, run it with --privileged or --cap-add NET_ADMIN";
            Err(refused("bringing loopback up (ip link set lo up)", std::io::Error::last_os_error(), remedy))
        }
    }
}
