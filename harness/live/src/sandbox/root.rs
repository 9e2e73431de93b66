//! The sandbox's files: a root of its own on a tmpfs, with what it needs of the machine bound in read-only.
//!
//! Invariant: after [`make`] only these parts of the machine's own tree can be reached: what is in `Sandbox::shown`,
//! the machine's programs and libraries, and a handful of devices; all of it read-only.

use super::{AGENT_ID, BIN, CWD, HOME, SANDBOX_MAX_BYTES, Sandbox, SandboxError, step};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown, symlink};
use std::path::{Component, Path, PathBuf};

/// Programs and libraries; a link stays a link.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// The files of `/etc` that programs look for: no host name, no resolver, no user of the machine.
const ETC_SHOWN: [&str; 7] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/localtime",
];
/// Where the agent may write; all of it is gone with the sandbox.
const WRITABLE: [&str; 5] = [HOME, "/tmp", "/var/tmp", "/dev/shm", "/run"];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Where the new root is mounted while it is made: in a mount namespace that no other process sees.
const MOUNT_POINTS: [&str; 5] = ["/mnt", "/media", "/srv", "/opt", "/sys"];

/// Makes the sandbox and goes into it. The caller is the first process of its PID namespace.
///
/// # Errors
/// The step that failed.
pub fn make(sandbox: &Sandbox) -> Result<(), SandboxError> {
    step("a mount namespace", nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS))?;
    let none: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    step("making mounts private", mount(none, "/", none, private, none))?;
    let root = mount_point(sandbox)?;
    let options = format!("mode=755,size={SANDBOX_MAX_BYTES},nr_inodes=200k");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    step("a tmpfs", mount(Some("tmpfs"), &root, Some("tmpfs"), flags, Some(options.as_str())))?;
    folders(&root)?;
    for path in SYSTEM {
        show_system(&root, Path::new(path))?;
    }
    for path in ETC_SHOWN.map(Path::new).into_iter().filter(|path| path.exists()) {
        show(&root, path, path)?;
    }
    etc(&root)?;
    devices(&root)?;
    for (from, at) in &sandbox.shown {
        show(&root, from, at)?;
    }
    step(
        "the sandbox's /proc",
        mount(Some("proc"), &root.join("proc"), Some("proc"), flags | MsFlags::MS_NOEXEC, none),
    )?;
    for file in &sandbox.files {
        put(&root, &file.path, file.text.as_bytes(), if file.executable { 0o755 } else { 0o644 })?;
    }
    for path in WRITABLE {
        let at = under(&root, Path::new(path));
        let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
        step(format!("opening {path}"), mount(Some(&at), &at, none, bind, none))?;
    }
    step("closing the sandbox's root", restrict(&root, false))?;
    step("entering the sandbox", std::env::set_current_dir(&root))?;
    step("changing the root", nix::unistd::pivot_root(".", "."))?;
    step("letting go of the old root", umount2(".", MntFlags::MNT_DETACH))?;
    step("entering the sandbox", std::env::set_current_dir("/"))
}

/// A folder that exists anyway and hides nothing that must be shown.
fn mount_point(sandbox: &Sandbox) -> Result<PathBuf, SandboxError> {
    let free = |point: &&Path| point.is_dir() && !sandbox.shown.iter().any(|(from, _)| from.starts_with(point));
    let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let point = MOUNT_POINTS.iter().map(Path::new).find(free).ok_or_else(none);
    step("a place to mount the sandbox at", point).map(Path::to_owned)
}

fn folders(root: &Path) -> Result<(), SandboxError> {
    for (path, mode) in [
        ("/dev/pts", 0o755),
        ("/dev/shm", 0o1777),
        ("/etc", 0o755),
        ("/proc", 0o555),
        ("/run", 0o755),
        ("/tmp", 0o1777),
        ("/var/tmp", 0o1777),
        (HOME, 0o755),
        (CWD, 0o755),
        (BIN, 0o755),
    ] {
        let path = under(root, Path::new(path));
        step(format!("{}", path.display()), folder(&path))?;
        step(format!("{}", path.display()), std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)))?;
    }
    for path in [HOME, CWD, "/run"] {
        own(&under(root, Path::new(path)))?;
    }
    Ok(())
}

fn etc(root: &Path) -> Result<(), SandboxError> {
    let user = format!("agent:x:{AGENT_ID}:{AGENT_ID}::{HOME}:/bin/sh\n");
    for (path, text) in [
        ("/etc/passwd", format!("root:x:0:0::/nonexistent:/bin/false\n{user}")),
        ("/etc/group", format!("root:x:0:\nagent:x:{AGENT_ID}:\n")),
        ("/etc/hosts", "127.0.0.1 localhost rehang\n".to_owned()),
        ("/etc/hostname", "rehang\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
        ("/etc/resolv.conf", String::new()),
        ("/etc/os-release", "ID=linux\nNAME=Linux\nPRETTY_NAME=Linux\n".to_owned()),
    ] {
        let path = under(root, Path::new(path));
        step(format!("{}", path.display()), std::fs::write(&path, text))?;
    }
    Ok(())
}

fn devices(root: &Path) -> Result<(), SandboxError> {
    for name in DEVICES {
        let from = Path::new("/dev").join(name);
        bind(&from, &under(root, &from), false)?;
    }
    let tty = Path::new("/dev/tty");
    bind(tty, &under(root, tty), false)?;
    let options = "newinstance,ptmxmode=0666,mode=620";
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    step("terminals", mount(Some("devpts"), &root.join("dev/pts"), Some("devpts"), flags, Some(options)))?;
    for (to, at) in [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ] {
        step("/dev", symlink(to, root.join("dev").join(at)))?;
    }
    Ok(())
}

fn show_system(root: &Path, path: &Path) -> Result<(), SandboxError> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if meta.is_symlink() {
        let to = step(format!("{}", path.display()), std::fs::read_link(path))?;
        return step(format!("{}", path.display()), symlink(to, under(root, path)));
    }
    show(root, path, path)
}

fn show(root: &Path, from: &Path, at: &Path) -> Result<(), SandboxError> {
    bind(from, &under(root, at), true)
}

/// Binds a folder or a file, with all that is mounted below it.
fn bind(from: &Path, at: &Path, read_only: bool) -> Result<(), SandboxError> {
    let what = || format!("showing {}", from.display());
    let is_folder = step(what(), std::fs::metadata(from))?.is_dir();
    step(what(), if is_folder { folder(at) } else { at.parent().map_or(Ok(()), folder) })?;
    if !is_folder {
        step(what(), std::fs::OpenOptions::new().create(true).append(true).mode(0o644).open(at))?;
    }
    let none: Option<&str> = None;
    step(what(), mount(Some(from), at, none, MsFlags::MS_BIND | MsFlags::MS_REC, none))?;
    if !read_only {
        return Ok(());
    }
    step(what(), restrict(at, true))
}

/// Makes a mount, or it and all below it, read-only, without setuid and without devices. It only adds restrictions,
/// which is allowed even if a user namespace has locked the existing ones.
fn restrict(at: &Path, recursive: bool) -> std::io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let path = CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: path and attributes outlive the call, and the size is that of the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            if recursive { libc::AT_RECURSIVE } else { 0 },
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Writes a file of the sandbox, which belongs to the agent. Nothing outside of `root` is reached: the path is walked one
/// part at a time, over no link and never upwards.
fn put(root: &Path, path: &Path, bytes: &[u8], mode: u32) -> Result<(), SandboxError> {
    let what = || format!("writing {}", path.display());
    step(what(), put_beneath(root, path, bytes, mode))
}

fn put_beneath(root: &Path, path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let upwards = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "its path leads out of the sandbox");
    let parts: Option<Vec<&OsStr>> = path
        .components()
        .filter(|part| !matches!(part, Component::RootDir | Component::CurDir))
        .map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
        .collect();
    let parts = parts.ok_or_else(upwards)?;
    let (name, folders) = parts.split_last().ok_or_else(upwards)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(root, flags, Mode::empty())?;
    for folder in folders {
        // new folders on the way to it belong to the agent too
        let is_new = match rustix::fs::mkdirat(&at, *folder, Mode::from_raw_mode(0o755)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        at = rustix::fs::openat(&at, *folder, flags, Mode::empty())?;
        if is_new {
            fchown(&at, Some(AGENT_ID), Some(AGENT_ID))?;
        }
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&at, *name, flags, Mode::from_raw_mode(0o644))?);
    file.write_all(bytes)?;
    file.set_permissions(PermissionsExt::from_mode(mode))?;
    fchown(&file, Some(AGENT_ID), Some(AGENT_ID))
}

fn own(path: &Path) -> Result<(), SandboxError> {
    step(format!("{}", path.display()), chown(path, Some(AGENT_ID), Some(AGENT_ID)))
}

fn folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::put_beneath;
    use std::path::Path;

    /// The paths of a recipe are templates of a file that anyone may have written.
    #[test]
    fn a_file_of_a_recipe_stays_in_the_sandbox() {
        let all = tempfile::tempdir().unwrap();
        let root = all.path().join("root");
        std::fs::create_dir_all(root.join("home")).unwrap();
        std::os::unix::fs::symlink(all.path(), root.join("home/link")).unwrap();
        std::fs::write(all.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(all.path().join("kept"), root.join("home/file")).unwrap();
        let put = |path: &str| put_beneath(&root, Path::new(path), b"x", 0o644).is_ok();
        let outside = ["/home/../../written", "../written", "/home/link/written", "/home/file", "/", ""];
        assert_eq!(outside.map(put), [false; 6]);
        assert!(!all.path().join("written").exists());
        assert_eq!(std::fs::read_to_string(all.path().join("kept")).unwrap(), "kept");
        // only root may give a file to the agent
        assert_eq!(put("/home/new/./inside"), rustix::process::geteuid().is_root());
        assert!(root.join("home/new").is_dir());
    }
}
