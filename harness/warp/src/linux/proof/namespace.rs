//! A socket in the network namespace of the tree, by which the kernel is asked about the sockets there.
//!
//! Invariant: no thread of the tracer's is in another namespace when a function here has returned. One that has the rights
//! goes there and ends; otherwise a child goes there, with the rights that whoever made a user namespace has in it.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// `NS_GET_USERNS` of <linux/nsfs.h>: the user namespace that a namespace belongs to.
const GET_OWNER: libc::c_ulong = 0xb701;
/// Room for one descriptor in a control message: `CMSG_SPACE(4)`.
const CONTROL: usize = 24;

/// A socket of `sock_diag` in this thread's network namespace.
pub fn diagnostic_socket() -> Result<OwnedFd> {
    // SAFETY: takes numbers only; what it returns is a new descriptor that is owned here alone.
    unsafe { owned(libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG)) }
}

/// A socket of `sock_diag` in the network namespace of a process.
pub fn diagnostic_socket_of(pid: i32) -> Result<OwnedFd> {
    let network = File::open(format!("/proc/{pid}/ns/net"))?;
    // a thread of its own: it changes its namespace, and its child is no child of the thread that traces
    let opens = move || match enter(network.as_raw_fd(), libc::CLONE_NEWNET) {
        Ok(()) => diagnostic_socket(),
        Err(_) => from_child(&network),
    };
    let thread = std::thread::Builder::new().spawn(opens)?;
    thread.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()))
}

fn enter(namespace: RawFd, kind: libc::c_int) -> Result<()> {
    // SAFETY: takes numbers only.
    match unsafe { libc::setns(namespace, kind) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// # Safety
/// `fd` is new and owned by nobody, or negative after a failed call.
unsafe fn owned(fd: libc::c_int) -> Result<OwnedFd> {
    // SAFETY: the caller's promise.
    if fd < 0 { Err(Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

/// A child goes into the user namespace that the network belongs to, which only a process with one thread may, then into
/// the network, and sends the socket.
fn from_child(network: &File) -> Result<OwnedFd> {
    // SAFETY: takes numbers only; what it returns is a new descriptor.
    let owner = unsafe { owned(libc::ioctl(network.as_raw_fd(), GET_OWNER))? };
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    // SAFETY: the child makes system calls only, on what was made before, and ends without running anything else.
    let child = unsafe {
        match libc::fork() {
            -1 => return Err(Error::last_os_error()),
            0 => {
                let done = libc::setns(owner.as_raw_fd(), libc::CLONE_NEWUSER) == 0
                    && libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) == 0;
                let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_SOCK_DIAG);
                if done && socket >= 0 {
                    send(theirs.as_raw_fd(), socket);
                }
                libc::_exit(0)
            }
            pid => pid,
        }
    };
    drop(theirs);
    let received = receive(ours.as_raw_fd());
    // SAFETY: the child is this thread's own, and has ended or is about to.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    received
}

/// A message of one byte with room for a descriptor; `use_it` gets it while all its parts live.
fn with_message<T>(use_it: impl FnOnce(&mut libc::msghdr) -> T) -> T {
    let mut byte = [0_u8; 1];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = [0_u64; CONTROL / size_of::<u64>()];
    // SAFETY: the structure consists of integers and pointers, for which zero is right.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), CONTROL);
    use_it(&mut message)
}

fn send(through: RawFd, fd: RawFd) {
    with_message(|message| {
        // SAFETY: the control buffer has room for a header and a descriptor, and outlives the call.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as libc::c_uint) as usize;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
            libc::sendmsg(through, message, libc::MSG_NOSIGNAL);
        }
    });
}

/// `Err` if the other end closed without sending one.
fn receive(through: RawFd) -> Result<OwnedFd> {
    with_message(|message| {
        // SAFETY: the kernel writes at most the buffers; a descriptor in the control message is new.
        unsafe {
            if libc::recvmsg(through, message, libc::MSG_CMSG_CLOEXEC) < 0 {
                return Err(Error::last_os_error());
            }
            let header = libc::CMSG_FIRSTHDR(message);
            if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
                return Err(ErrorKind::PermissionDenied.into());
            }
            owned(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned())
        }
    })
}
