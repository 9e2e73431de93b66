//! Mounts: which files can be looked at without a question to a file system's server, and which cannot.
//!
//! A server that does not answer holds up all who ask it, in the kernel, where no signal reaches them. So nothing is asked
//! of it: a file's mount is known from fdinfo and mountinfo, a path is walked one part at a time and never over a mount
//! that has a server.
//!
//! Invariant: no call of this module waits for a server. A kind of file system that is not listed here counts as one that
//! has a server.

use super::file;
use crate::data::{Pid, Server};
use rehang_words::text::visible;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxFlags};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

/// The most mounts of one namespace that are kept.
const MAX_MOUNTS: usize = 65_536;
/// The most links on one path, as in the kernel (`MAXSYMLINKS`, include/linux/namei.h).
const MAX_LINKS: usize = 40;
/// The most bytes of a path, as in the kernel (`PATH_MAX`).
const MAX_PATH: usize = 4096;

/// The inode of a devpts's own file `ptmx` (fs/devpts/inode.c).
const PTMX_INODE: u64 = 2;

/// File systems that this machine's kernel answers for alone; the names are those of /proc/filesystems.
#[rustfmt::skip]
const LOCAL: [&str; 45] = [
    "aufs", "bcachefs", "binder", "binfmt_misc", "bpf", "btrfs", "cgroup", "cgroup2", "configfs", "cramfs",
    "debugfs", "devpts", "devtmpfs", "efivarfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fusectl",
    "hfsplus", "hugetlbfs", "iso9660", "jfs", "mqueue", "nilfs2", "nsfs", "ntfs3", "overlay", "proc", "pstore",
    "ramfs", "reiserfs", "rootfs", "rpc_pipefs", "securityfs", "selinuxfs", "squashfs", "sysfs", "tmpfs",
    "tracefs", "vfat", "xfs", "zfs",
];

/// Who answers for a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// This kernel.
    Kernel,
    /// A process, over FUSE. The kernel tells what it remembers of an open file (`AT_STATX_DONT_SYNC`) without a question.
    Fuse,
    /// A server on the network, or one that is not known. Even what is remembered may be checked with it first.
    Server,
}

impl Answers {
    fn of(kind: &str) -> Answers {
        match kind {
            "fuse" | "fuseblk" | "virtiofs" => Answers::Fuse,
            _ if kind.starts_with("fuse.") => Answers::Fuse,
            _ if LOCAL.contains(&kind) => Answers::Kernel,
            _ => Answers::Server,
        }
    }
}

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    id: u64,
    device: (u32, u32),
    /// Where it is, as its processes see it.
    at: String,
    kind: String,
    source: String,
}

impl Mount {
    pub fn answers(&self) -> Answers {
        Answers::of(&self.kind)
    }

    /// Its server, if it has one.
    pub fn server(&self) -> Option<Server> {
        (self.answers() != Answers::Kernel).then(|| Server {
            mount: visible(&self.at),
            kind: visible(&self.kind),
            source: visible(&self.source),
            unanswered: (self.answers() == Answers::Fuse).then(|| unanswered(self.device)).flatten(),
        })
    }
}

/// How many requests to a FUSE server have no answer yet: the kernel's own count, for which nobody is asked. A
/// connection is named by its device's minor number (Documentation/filesystems/fuse/fuse.rst).
fn unanswered((_, minor): (u32, u32)) -> Option<u64> {
    file::text(&format!("/sys/fs/fuse/connections/{minor}/waiting")).ok()?.trim().parse().ok()
}

/// The mounts that a process sees.
#[derive(Debug, Default)]
pub struct Table {
    mounts: Vec<Mount>,
}

impl Table {
    fn parse(text: &str) -> Table {
        Table { mounts: text.lines().take(MAX_MOUNTS).filter_map(mount).collect() }
    }

    /// A mount by its number.
    pub fn by_id(&self, id: u64) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// The mount that is at this place; the last one covers those before it.
    fn at(&self, place: &str) -> Option<&Mount> {
        self.mounts.iter().rev().find(|mount| mount.at == place)
    }
}

/// `36 35 98:0 /root /at rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn mount(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let mut words = head.split(' ');
    let id = words.next()?.parse().ok()?;
    let (major, minor) = words.nth(1)?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let at = unescaped(words.nth(1)?);
    let mut words = tail.split(' ');
    Some(Mount { id, device, at, kind: words.next()?.to_owned(), source: unescaped(words.next().unwrap_or_default()) })
}

/// Blanks, tabs, newlines and backslashes are written as `\040` and so on, in base 8.
fn unescaped(word: &str) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| *first == b'\\').and_then(|three| std::str::from_utf8(three).ok());
        match code.and_then(|three| u8::from_str_radix(three, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Why a file was not reached.
#[derive(Debug)]
pub enum Unreached {
    /// It is on a mount whose server would have to be asked.
    Behind(Box<Mount>),
    /// There is no such file, or it may not be reached.
    Gone,
}

/// The mounts of all processes that one look has needed so far.
#[derive(Debug, Default)]
pub struct Mounts {
    tables: RefCell<BTreeMap<(u64, String), Rc<Table>>>,
    /// Those of processes that were asked for.
    seen: RefCell<BTreeMap<Pid, Rc<Table>>>,
}

impl Mounts {
    /// What a process sees. Those with the same namespace and the same root see the same.
    pub fn of(&self, pid: Pid) -> Rc<Table> {
        let seen = self.seen.borrow().get(&pid).map(Rc::clone);
        seen.unwrap_or_else(|| {
            let table = self.read(pid);
            self.seen.borrow_mut().insert(pid, Rc::clone(&table));
            table
        })
    }

    fn read(&self, pid: Pid) -> Rc<Table> {
        let root = file::plain_link(&format!("/proc/{pid}/root")).unwrap_or_default();
        let key = (file::namespace(pid, "mnt"), root);
        if let Some(table) = self.tables.borrow().get(&key).filter(|_| key.0 != 0) {
            return Rc::clone(table);
        }
        let table = Rc::new(Table::parse(&file::text(&format!("/proc/{pid}/mountinfo")).unwrap_or_default()));
        self.tables.borrow_mut().insert(key, Rc::clone(&table));
        table
    }

    /// The mount with this number, of a process's or of our own namespace: a descriptor may have been opened in another
    /// one than its process is in.
    pub fn by_id(&self, pid: Pid, id: u64) -> Option<Mount> {
        let find = |pid| self.of(pid).by_id(id).cloned();
        find(pid).or_else(|| find(std::process::id() as Pid))
    }

    /// The minor number of the devpts that a pseudo-terminal's descriptor is of, unless that is our own or is not known. `id`
    /// is the mount in its fdinfo. A master may be opened at a device file beside its devpts, which then is in the folder
    /// `pts` there (Documentation/filesystems/devpts.rst).
    pub fn other_devpts(&self, pid: Pid, fd: i32, link: &str, id: Option<u64>) -> Option<u32> {
        let is_devpts = |mount: &&Mount| mount.kind == "devpts";
        let own = self.of(std::process::id() as Pid);
        let tables = [self.of(pid), Rc::clone(&own)];
        let found = id.and_then(|id| tables.iter().find_map(|table| Some((table, table.by_id(id)?))));
        let minor = match found {
            Some((_, mount)) if is_devpts(&mount) => mount.device.1,
            Some((table, _)) => {
                let place = Path::new(link).parent()?.join("pts");
                table.at(place.to_str()?).filter(is_devpts)?.device.1
            }
            // a master that was opened in a namespace out of sight, as that of a container's terminal
            None => {
                let status = link.ends_with("/ptmx").then(|| remembered(&format!("/proc/{pid}/fd/{fd}"))).flatten()?;
                (status.stx_ino == PTMX_INODE).then_some(status.stx_dev_minor)?
            }
        };
        (minor != own.at("/dev/pts").filter(is_devpts)?.device.1).then_some(minor)
    }

    /// What a descriptor's file is, if that can be told without a question to a server. `id` and `inode` are those of its
    /// fdinfo.
    pub fn status(&self, pid: Pid, fd: i32, link: &str, id: Option<u64>, inode: Option<u64>) -> Option<Statx> {
        let path = format!("/proc/{pid}/fd/{fd}");
        // a number is one mount's in all namespaces; our own list is there already, as a rule
        let own = self.of(std::process::id() as Pid);
        let answers = id.and_then(|id| match own.by_id(id) {
            Some(mount) => Some(mount.answers()),
            None => self.of(pid).by_id(id).map(Mount::answers),
        });
        match answers {
            Some(Answers::Kernel | Answers::Fuse) => remembered(&path),
            Some(Answers::Server) => None,
            // of a namespace that is out of sight: the file at its path is told, if it is the same
            None => {
                let file = self.walk(pid, link).ok()?;
                let status = remembered_at(&file)?;
                (Some(status.stx_ino) == inode).then_some(status)
            }
        }
    }

    /// Opens a path of a process, `O_PATH` and with all links resolved, without a step onto a mount that has a server.
    pub fn walk(&self, pid: Pid, path: &str) -> Result<OwnedFd, Unreached> {
        let table = self.of(pid);
        let behind = |place: &str| match table.at(place) {
            Some(mount) if mount.answers() != Answers::Kernel => Err(Unreached::Behind(Box::new(mount.clone()))),
            _ => Ok(()),
        };
        // without the list, nothing is known of any place
        table.at("/").ok_or(Unreached::Gone)?;
        behind("/")?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let open_root = || rustix::fs::open(format!("/proc/{pid}/root"), flags, Mode::empty());
        let root = open_root().map_err(|_| Unreached::Gone)?;
        let mut open: Vec<(OwnedFd, String)> = Vec::new();
        let mut todo: Vec<String> = parts(path);
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                open.pop();
                continue;
            }
            let (folder, place) = open.last().map_or((&root, ""), |(fd, place)| (fd, place.as_str()));
            let place = format!("{place}/{part}");
            behind(&place)?;
            if place.len() > MAX_PATH {
                return Err(Unreached::Gone);
            }
            let next = rustix::fs::openat(folder, part.as_str(), flags | OFlags::NOFOLLOW, Mode::empty());
            let next = next.map_err(|_| Unreached::Gone)?;
            match remembered_at(&next).map(|status| kind(&status)) {
                Some(rustix::fs::FileType::Symlink) => {
                    links += 1;
                    let to = rustix::fs::readlinkat(&next, "", Vec::new()).ok().filter(|_| links <= MAX_LINKS);
                    let to = to.and_then(|to| to.into_string().ok()).ok_or(Unreached::Gone)?;
                    if to.starts_with('/') {
                        open.clear();
                    }
                    todo.extend(parts(&to));
                }
                Some(_) => open.push((next, place)),
                None => return Err(Unreached::Gone),
            }
        }
        Ok(open.pop().map_or(root, |(fd, _)| fd))
    }

    /// The server that a path of a process leads to, if it leads to one.
    pub fn server_of(&self, pid: Pid, path: &str) -> Option<Server> {
        match self.walk(pid, path) {
            Err(Unreached::Behind(mount)) => mount.server(),
            _ => None,
        }
    }
}

/// The parts of a path, the last one first. A link of /proc that leads anywhere by itself has a text like a path.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let mut parts: Vec<String> = parts.map(str::to_owned).collect();
    parts.reverse();
    parts
}

/// What the kernel knows of a file without asking anybody.
const REMEMBERED: (AtFlags, StatxFlags) =
    (AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE.union(StatxFlags::INO).union(StatxFlags::SIZE));

fn remembered(path: &str) -> Option<Statx> {
    rustix::fs::statx(CWD, Path::new(path), REMEMBERED.0, REMEMBERED.1).ok()
}

/// The same of a file that is open, `O_PATH` included.
pub fn remembered_at(file: &OwnedFd) -> Option<Statx> {
    rustix::fs::statx(file, "", REMEMBERED.0 | AtFlags::EMPTY_PATH, REMEMBERED.1).ok()
}

/// The type in a file's mode.
pub fn kind(status: &Statx) -> rustix::fs::FileType {
    rustix::fs::FileType::from_raw_mode(u32::from(status.stx_mode))
}

#[cfg(test)]
mod tests;
