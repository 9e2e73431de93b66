//! Which file system's server a thread waits for: by its call's path, folder or descriptor, and the mount of that.
//!
//! Invariant: a thread that may wait for something else than a server (a pipe, a lock, a clock) has none.

use super::mounts::Mounts;
use super::{fds, file, memory};
use crate::data::{Call, Object, Pid, Process, Server, State};

/// Where a call has the file that it is about.
enum Where {
    /// A path relative to the working folder: its argument's index.
    Path(usize),
    /// A path relative to a folder's descriptor: their indices.
    At(usize, usize),
    /// A descriptor.
    Fd(usize),
}

/// Calls that wait for nothing but the file system when they are about a file or a folder (syscalls(2)).
fn subject(number: i64) -> Option<Where> {
    use Where::{At, Fd, Path};
    Some(match number {
        libc::SYS_newfstatat | libc::SYS_statx | libc::SYS_openat | libc::SYS_openat2 | libc::SYS_faccessat => At(0, 1),
        libc::SYS_faccessat2 | libc::SYS_readlinkat | libc::SYS_unlinkat | libc::SYS_mkdirat => At(0, 1),
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat | libc::SYS_utimensat => At(0, 1),
        libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_execveat | libc::SYS_mknodat => At(0, 1),
        libc::SYS_execve | libc::SYS_chdir | libc::SYS_statfs | libc::SYS_truncate => Path(0),
        libc::SYS_getxattr | libc::SYS_lgetxattr | libc::SYS_setxattr | libc::SYS_listxattr => Path(0),
        libc::SYS_read | libc::SYS_write | libc::SYS_pread64 | libc::SYS_pwrite64 | libc::SYS_readv => Fd(0),
        libc::SYS_writev | libc::SYS_preadv | libc::SYS_pwritev | libc::SYS_getdents64 | libc::SYS_fstat => Fd(0),
        libc::SYS_fstatfs | libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_ftruncate | libc::SYS_close => Fd(0),
        libc::SYS_lseek | libc::SYS_fallocate | libc::SYS_fchdir | libc::SYS_fgetxattr | libc::SYS_flock => Fd(0),
        libc::SYS_copy_file_range | libc::SYS_fadvise64 | libc::SYS_readahead | libc::SYS_splice => Fd(0),
        libc::SYS_sendfile => Fd(1),
        _ => return of_this_architecture(number),
    })
}

#[cfg(target_arch = "x86_64")]
fn of_this_architecture(number: i64) -> Option<Where> {
    match number {
        libc::SYS_stat | libc::SYS_lstat | libc::SYS_open | libc::SYS_access | libc::SYS_readlink => {
            Some(Where::Path(0))
        }
        libc::SYS_unlink | libc::SYS_mkdir | libc::SYS_rmdir | libc::SYS_rename | libc::SYS_creat | libc::SYS_chmod => {
            Some(Where::Path(0))
        }
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_architecture(_number: i64) -> Option<Where> {
    None
}

/// The server that a sleeping thread waits for in its call.
pub fn of(call: &Call, state: State, process: &Process, tid: Pid, mounts: &Mounts) -> Option<Server> {
    if !matches!(state, State::Sleeping | State::Disk) {
        return None;
    }
    let pid = process.pid;
    match subject(call.number)? {
        Where::Path(at) => path(call, at, pid, tid, libc::AT_FDCWD, mounts),
        Where::At(folder, at) => path(call, at, pid, tid, call.args[folder] as i32, mounts),
        Where::Fd(at) => descriptor(process, call.args[at] as i32, mounts),
    }
}

fn path(call: &Call, at: usize, pid: Pid, tid: Pid, folder: i32, mounts: &Mounts) -> Option<Server> {
    let path = memory::text(tid, call.args[at])?;
    // of the file itself that is open
    if path.is_empty() && folder >= 0 {
        return mounts.by_id(pid, fds::mount_of(pid, folder)?)?.server();
    }
    mounts.server_of(pid, &absolute(pid, folder, &path)?)
}

/// A regular file's or a folder's server; a FIFO waits for its partner, whoever keeps its name.
fn descriptor(process: &Process, fd: i32, mounts: &Mounts) -> Option<Server> {
    match process.fd(fd).map(|fd| &fd.what) {
        Some(Object::File { .. } | Object::Other { .. }) => {
            mounts.by_id(process.pid, fds::mount_of(process.pid, fd)?)?.server()
        }
        _ => None,
    }
}

/// A path as seen from a process's root, by the folder that it is relative to.
pub fn absolute(pid: Pid, folder: i32, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    let base = match folder {
        libc::AT_FDCWD => file::plain_link(&format!("/proc/{pid}/cwd"))?,
        folder => file::plain_link(&format!("/proc/{pid}/fd/{folder}"))?,
    };
    // a folder that was removed has no place
    (base.starts_with('/') && !base.ends_with(" (deleted)")).then(|| format!("{base}/{path}"))
}
