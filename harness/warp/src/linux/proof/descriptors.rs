//! What can make a descriptor ready.

use super::super::{procfs, sys};
use super::net::{Found, Peer};
use super::{Caller, READABLE, READS, inside, outside, unknown};
use crate::Object;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// How deep epolls within epolls are looked into.
const DEPTH: usize = 4;
/// The major numbers of pseudoterminals' slaves (`UNIX98_PTY_SLAVE_MAJOR` of <linux/major.h>), each of 256.
const PTS_MAJORS: std::ops::Range<u32> = 136..144;

impl Caller<'_> {
    /// What can make a descriptor ready for these events.
    pub fn descriptor(self, fd: i32, events: u32) -> Object {
        self.ready(fd, events, 0)
    }

    fn ready(self, fd: i32, events: u32, depth: usize) -> Object {
        let name = self.world.describe(self.pid, fd);
        let Some(link) = self.world.link(self.pid, fd) else { return unknown(name, "it is not open") };
        let kind = link.strip_prefix("anon_inode:").unwrap_or(link).trim_matches(['[', ']']);
        match kind {
            "eventfd" => inside(name, self.holders(link)),
            "signalfd" | "timerfd" => inside(name, vec![self.pid]),
            "inotify" | "fanotify" => outside(name, "a change of files"),
            "eventpoll" => self.nested(fd, name, depth),
            _ if kind.starts_with("pidfd") => self.process(fd, name),
            _ if link.starts_with("pipe:[") => self.pipe(link, name, events & READABLE != 0),
            _ if link.starts_with("socket:[") => self.socket(link, name),
            _ if link.ends_with("/ptmx") => self.master(fd, name),
            _ if link.starts_with("/dev/pts/") || link.starts_with("/dev/tty") || link == "/dev/console" => {
                self.terminal(fd, name, events)
            }
            _ => match std::fs::metadata(format!("/proc/{}/fd/{fd}", self.pid)) {
                Ok(file) if file.file_type().is_fifo() => self.pipe(link, name, events & READABLE != 0),
                _ => unknown(name, "a wait for such a file is not known well enough"),
            },
        }
    }

    /// The tree's processes that have it.
    fn holders(self, link: &str) -> Vec<i32> {
        let mut holders: Vec<i32> = self.world.of_link(link).map(|(pid, _)| pid).collect();
        holders.retain(|pid| self.world.is_inside(*pid));
        holders.dedup();
        holders
    }

    /// A pipe or FIFO: the other end's holders can make it ready.
    fn pipe(self, link: &str, name: String, reads: bool) -> Object {
        let has_other_end = |(pid, fd): &(i32, i32)| {
            let mode = procfs::access_mode(*pid, *fd);
            mode == libc::O_RDWR || (mode == libc::O_WRONLY) == reads
        };
        let mut holders: Vec<i32> = self.world.of_link(link).filter(has_other_end).map(|(pid, _)| pid).collect();
        holders.dedup();
        let stranger = holders.iter().find(|pid| !self.world.is_inside(**pid));
        match stranger {
            Some(pid) => outside(name, process_name(*pid)),
            None if self.world.is_inherited(link) && holders.is_empty() => outside(name, "its other end"),
            None if self.world.is_inherited(link) && self.world.is_partial => {
                unknown(name, "it came from outside, and not every process can be looked at")
            }
            None => inside(name, holders),
        }
    }

    fn socket(self, link: &str, name: String) -> Object {
        let Some(inode) = procfs::inode(link, "socket") else { return unknown(name, "it is not known") };
        let whom = |address: &str| procfs::clean(address);
        match self.world.sockets(self.pid).find(inode) {
            // only the tree is in its network, or only the tree uses it
            Found::Listens(at) | Found::Datagrams(at) if at.is_local() && self.world.is_alone_in_network(self.pid) => {
                inside(name, Vec::new())
            }
            Found::Listens(address) => outside(name, format!("a connection to {}", whom(&address.text))),
            Found::Connected(Peer::Inode(peer)) => {
                let peer = format!("socket:[{peer}]");
                let all: Vec<i32> = self.world.of_link(&peer).map(|(pid, _)| pid).collect();
                let holders = self.holders(&peer);
                match all.iter().find(|pid| !self.world.is_inside(**pid)) {
                    Some(pid) => outside(name, process_name(*pid)),
                    None if holders.is_empty() => outside(name, "its other end"),
                    None => inside(name, holders),
                }
            }
            Found::Connected(Peer::Address(address)) => outside(name, procfs::clean(&address)),
            Found::Datagrams(address) => outside(name, format!("messages to {}", whom(&address.text))),
            Found::Busy(why) => unknown(name, why),
            Found::Nothing => unknown(name, "this kind of socket is not known well enough"),
        }
    }

    fn process(self, fd: i32, name: String) -> Object {
        let info = procfs::descriptor_info(self.pid, fd).unwrap_or_default();
        let pid = info.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok());
        match pid {
            Some(pid) if self.world.is_inside(pid) => inside(name, vec![pid]),
            Some(pid) if pid > 0 => outside(name, process_name(pid)),
            _ => unknown(name, "its process is not known"),
        }
    }

    /// The master of a pseudoterminal: who has its slave can write to it.
    fn master(self, fd: i32, name: String) -> Object {
        let Some(index) = master_index(self.pid, fd) else { return unknown(name, "its number is not known") };
        let own = devpts(self.pid, fd);
        let terminals = self
            .world
            .with_prefix("/dev/")
            .filter(|((pid, fd), _)| terminal_index(*pid, *fd) == Some(index) && may_be_one(&own, &devpts(*pid, *fd)));
        let mut pids: Vec<i32> = terminals.map(|((pid, _), _)| pid).collect();
        pids.dedup();
        match pids.iter().find(|pid| !self.world.is_inside(**pid)) {
            Some(pid) => outside(name, process_name(*pid)),
            None if pids.is_empty() => unknown(name, "nobody has its other end"),
            None => inside(name, pids),
        }
    }

    /// A terminal: who has its master can type.
    fn terminal(self, fd: i32, name: String, events: u32) -> Object {
        if events & READS != 0 && has_time_limit(self.pid, fd) {
            return unknown(name, "the terminal has a time limit of its own (VTIME)");
        }
        let (index, own) = (terminal_index(self.pid, fd), devpts(self.pid, fd));
        let is_its = |pid, fd| master_index(pid, fd) == index && may_be_one(&own, &devpts(pid, fd));
        let masters = self
            .world
            .with_prefix("/dev/")
            .filter(|((pid, fd), link)| link.ends_with("/ptmx") && index.is_some() && is_its(*pid, *fd));
        let mut pids: Vec<i32> = masters.map(|((pid, _), _)| pid).collect();
        pids.dedup();
        match pids.iter().all(|pid| self.world.is_inside(*pid)) {
            true if !pids.is_empty() => inside(name, pids),
            _ => outside(name, "the terminal"),
        }
    }

    /// What an epoll watches.
    pub fn watched(self, epoll: i32, depth: usize) -> Vec<Object> {
        let name = self.world.describe(self.pid, epoll);
        let Some(info) = procfs::descriptor_info(self.pid, epoll).filter(|_| depth < DEPTH) else {
            return vec![unknown(name, "it cannot be read")];
        };
        let watched = info.lines().filter_map(|line| {
            let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
            let fd = words.next()?.parse().ok()?;
            let events = words.nth(1).and_then(|word| u32::from_str_radix(word, 16).ok())?;
            let inode = line.split_once("ino:").and_then(|(_, rest)| rest.split_ascii_whitespace().next());
            Some((fd, events, inode.and_then(|word| u64::from_str_radix(word, 16).ok())))
        });
        let objects: Vec<Object> = watched
            .map(|(fd, events, inode)| {
                let file = std::fs::metadata(format!("/proc/{}/fd/{fd}", self.pid));
                match file.is_ok_and(|file| Some(file.ino()) == inode) {
                    true => self.ready(fd, events, depth + 1),
                    false => unknown(format!("fd {fd}"), "the epoll watches a file that is open elsewhere"),
                }
            })
            .collect();
        // an epoll of nothing waits for a signal, or for another thread that adds something
        if objects.is_empty() { vec![inside(name, vec![self.pid])] } else { objects }
    }

    fn nested(self, fd: i32, name: String, depth: usize) -> Object {
        let objects = self.watched(fd, depth + 1);
        let worst = objects.iter().max_by_key(|object| match object.source {
            crate::Source::Inside => 0,
            crate::Source::Unknown(_) => 1,
            crate::Source::Outside(_) => 2,
        });
        let source = worst.map_or(crate::Source::Inside, |object| object.source.clone());
        let mut holders: Vec<i32> = objects.into_iter().flat_map(|object| object.holders).collect();
        holders.sort_unstable();
        holders.dedup();
        Object { name, source, holders }
    }
}

/// A process by name and number.
fn process_name(pid: i32) -> String {
    format!("{} ({pid})", procfs::name(pid, pid))
}

/// The number of a pseudoterminal by its master.
fn master_index(pid: i32, fd: i32) -> Option<u32> {
    let info = procfs::descriptor_info(pid, fd)?;
    info.lines().find_map(|line| line.strip_prefix("tty-index:"))?.trim().parse().ok()
}

/// The number of a pseudoterminal by its slave; that of the controlling terminal for `/dev/tty`.
fn terminal_index(pid: i32, fd: i32) -> Option<u32> {
    let link = procfs::link(pid, fd)?;
    if let Some(number) = link.strip_prefix("/dev/pts/") {
        return number.parse().ok();
    }
    if link != "/dev/tty" {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // after the name: state, parent, group, session, terminal
    let device: u32 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(4)?.parse().ok()?;
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
    PTS_MAJORS.contains(&major).then(|| (major - PTS_MAJORS.start) * 256 + minor)
}

/// The device of the devpts that a pseudoterminal's descriptor is of, if it is known: a container has one of its own, which
/// counts from 0 again. A master may be opened at a device file beside its devpts, which then is in the folder `pts` there
/// (Documentation/filesystems/devpts.rst).
fn devpts(pid: i32, fd: i32) -> Option<String> {
    let (link, info) = (procfs::link(pid, fd)?, procfs::descriptor_info(pid, fd)?);
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).ok()?;
    // of a mount: its number, the parent's, the device, the root, the place
    let word = |line: &str, at| line.split(' ').nth(at).map(str::to_owned);
    let is_devpts = |line: &&str| line.contains(" - devpts ");
    let own = mounts.lines().find(|line| line.split(' ').next() == Some(id))?;
    if is_devpts(&own) {
        return word(own, 2);
    }
    let beside = format!("{}/pts", link.rsplit_once('/')?.0);
    let found = mounts.lines().rev().filter(is_devpts).find(|line| line.split(' ').nth(4) == Some(&beside))?;
    word(found, 2)
}

/// Whether two descriptors may be of one devpts.
fn may_be_one(one: &Option<String>, other: &Option<String>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// Whether reads of a terminal end after a time that the terminal itself counts.
fn has_time_limit(pid: i32, fd: i32) -> bool {
    let Some(copy) = sys::copy_descriptor(pid, fd) else { return true };
    // SAFETY: the structure outlives the call, and is read only if the call wrote it.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(copy.as_raw_fd(), &raw mut settings) != 0 {
            return true;
        }
        settings.c_lflag & libc::ICANON == 0 && settings.c_cc[libc::VTIME] != 0
    }
}
