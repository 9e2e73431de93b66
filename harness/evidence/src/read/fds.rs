//! Descriptors: what each is, how it was opened, and what else the kernel tells of it.
//!
//! Invariant: nothing is opened but files of /proc; of a descriptor's target only that is asked which the kernel knows
//! by itself. What is not read before the limit of a reading counts as unread.

use super::file::inode_of;
use super::mounts::kind;
use super::process::Stat;
use super::{Reach, file};
use crate::data::{Descriptor, Mode, Object, Pid, Watch};
use rehang_words::text::visible;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::ffi::OsStr;
use std::fs;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most bytes of a link (`PATH_MAX`); what is longer the kernel does not show.
const MAX_LINK: usize = 4096;
/// The most descriptors that one epoll instance is said to watch.
const MAX_WATCHES: usize = 4096;

/// All descriptors of a process, and whether these are all: they may not be readable, or too many for the limit.
pub fn read(pid: Pid, reach: &Reach) -> (Vec<Descriptor>, bool) {
    let Some(table) = Table::of(pid) else { return (Vec::new(), false) };
    let mut fds = Vec::new();
    let whole = table.each(reach, |fd, link| {
        fds.push(table.descriptor(fd, link, reach));
        ControlFlow::Continue(())
    });
    fds.sort_unstable_by_key(|fd| fd.fd);
    (fds, whole)
}

/// Shows each descriptor of a process with what it points to, until `see` breaks off; whether all were shown that the
/// process has.
pub fn each_link(pid: Pid, reach: &Reach, see: impl FnMut(i32, &Path) -> ControlFlow<()>) -> bool {
    Table::of(pid).is_some_and(|table| table.each(reach, see))
}

/// Whether files are registered with an io_uring.
pub fn keeps_files(pid: Pid, fd: i32) -> bool {
    file::text(&format!("/proc/{pid}/fdinfo/{fd}")).is_ok_and(|info| number(&info, "UserFiles:") > 0)
}

/// The descriptors of a process, by their links.
struct Table {
    pid: Pid,
    folder: OwnedFd,
}

impl Table {
    /// `None` if they may not be read.
    fn of(pid: Pid) -> Option<Table> {
        let folder = file::folder(&format!("/proc/{pid}/fd")).ok()?;
        Some(Table { pid, folder })
    }

    fn each(&self, reach: &Reach, mut see: impl FnMut(i32, &Path) -> ControlFlow<()>) -> bool {
        let mut whole = true;
        let _ = file::numbers(&self.folder, |fd| {
            if reach.limit.is_over() {
                whole = false;
                return ControlFlow::Break(());
            }
            match self.link(fd, |link| see(fd, link)) {
                Ok(seen) => seen,
                // the reader may see nothing of this process
                Err(Errno::ACCESS | Errno::PERM) => {
                    whole = false;
                    ControlFlow::Break(())
                }
                // it is gone
                Err(_) => ControlFlow::Continue(()),
            }
        });
        whole
    }

    /// Shows where a descriptor's link leads to.
    fn link<T>(&self, fd: i32, see: impl FnOnce(&Path) -> T) -> rustix::io::Result<T> {
        let mut room = [MaybeUninit::uninit(); MAX_LINK];
        let (link, _) = rustix::fs::readlinkat_raw(&self.folder, DecInt::new(fd), &mut room)?;
        Ok(see(Path::new(OsStr::from_bytes(link))))
    }

    /// How a descriptor was opened, which the kernel shows as the rights of the link itself. What is not written like
    /// that is not known.
    fn mode(&self, fd: i32) -> Option<Mode> {
        let status = rustix::fs::statat(&self.folder, DecInt::new(fd), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match status.st_mode & 0o777 {
            0o500 => Some(Mode::Read),
            0o300 => Some(Mode::Write),
            0o700 => Some(Mode::Both),
            _ => None,
        }
    }

    /// A descriptor whose link leads there.
    fn descriptor(&self, fd: i32, link: &Path, reach: &Reach) -> Descriptor {
        let link = link.to_string_lossy();
        // of these there is nothing else to be known
        let known = match &*link {
            "/dev/null" => self.mode(fd).map(|mode| (mode, Object::Null)),
            link => match (inode_of(link, "pipe:["), inode_of(link, "socket:[")) {
                (Some(inode), _) => self.mode(fd).map(|mode| (mode, Object::Pipe { inode })),
                // there are no sockets for one direction
                (_, Some(inode)) => Some((Mode::Both, Object::Socket { inode })),
                _ => None,
            },
        };
        if let Some((mode, what)) = known {
            return Descriptor { fd, mode, what };
        }
        let info = info(self.pid, fd);
        let flags = field(&info, "flags:").and_then(|text| u32::from_str_radix(text, 8).ok());
        let mode = match flags.map(|flags| flags & libc::O_ACCMODE as u32) {
            Some(0) => Mode::Read,
            Some(1) => Mode::Write,
            Some(2) => Mode::Both,
            _ => Mode::Unknown,
        };
        Descriptor { fd, mode, what: object(self.pid, fd, &link, &info, reach) }
    }
}

/// How many descriptors a process has, or how many its table has room for if the kernel does not say.
pub fn count(pid: Pid) -> u64 {
    // Linux 6.2 and later give the number as the folder's size
    let told =
        fs::metadata(format!("/proc/{pid}/fd")).map_or(0, |folder| std::os::unix::fs::MetadataExt::size(&folder));
    if told > 0 {
        return told;
    }
    let status = file::text(&format!("/proc/{pid}/status")).unwrap_or_default();
    field(&status, "FDSize:").and_then(|size| size.parse().ok()).unwrap_or(0)
}

/// The inode of the pipe or the socket that a link is to.
pub fn channel_of(link: &Path) -> Option<u64> {
    let text = link.to_str()?;
    inode_of(text, "pipe:[").or_else(|| inode_of(text, "socket:["))
}

/// The number of the pseudo-terminal whose master a descriptor is, as [`Object::Master`] has it.
pub fn master_index(pid: Pid, fd: i32, link: &str, reach: &Reach) -> Option<u64> {
    master((pid, fd), link, &info(pid, fd), reach)
}

fn master(of: (Pid, i32), link: &str, info: &str, reach: &Reach) -> Option<u64> {
    let index = field(info, "tty-index:")?.parse().ok()?;
    Some(pty(of, link, info, index, reach))
}

/// The pseudo-terminal that has this number in the devpts of a descriptor.
pub fn pty_at(pid: Pid, fd: i32, link: &str, index: u32, reach: &Reach) -> u64 {
    pty((pid, fd), link, &info(pid, fd), index, reach)
}

fn pty((pid, fd): (Pid, i32), link: &str, info: &str, index: u32, reach: &Reach) -> u64 {
    let mount = field(info, "mnt_id:").and_then(|id| id.parse().ok());
    let devpts = reach.mounts.other_devpts(pid, fd, link, mount).unwrap_or(0);
    u64::from(devpts) << 32 | u64::from(index)
}

/// The controlling terminal of a process, by its device number, if it is a pseudo-terminal. The number is of some devpts: of
/// that which the process's standard streams have it from, or else of our own.
pub fn controlling_pty(pid: Pid, device: u32, reach: &Reach) -> Option<u64> {
    let index = pty_of(device)?;
    let path = format!("/dev/pts/{index}");
    let has_it = |fd: &i32| file::plain_link(&format!("/proc/{pid}/fd/{fd}")).is_some_and(|link| link == path);
    let stream = (0..=2).find(has_it);
    Some(stream.map_or(u64::from(index), |fd| pty_at(pid, fd, &path, index, reach)))
}

/// The inode of a file that a descriptor points to, and whether it is a FIFO; only if the inode is `wanted`.
pub fn inode_and_kind(
    pid: Pid,
    fd: i32,
    link: &Path,
    reach: &Reach,
    wanted: impl Fn(u64) -> bool,
) -> Option<(u64, bool)> {
    let info = info(pid, fd);
    // most are no such file, which the kernel tells by the way (Linux 5.14 and later)
    if field(&info, "ino:").and_then(|inode| inode.parse().ok()).is_some_and(|inode| !wanted(inode)) {
        return None;
    }
    match object(pid, fd, &link.to_string_lossy(), &info, reach) {
        Object::Fifo { inode, .. } => Some((inode, true)),
        Object::File { inode, .. } => Some((inode, false)),
        _ => None,
    }
}

/// The number of the mount that a descriptor's file is on.
pub fn mount_of(pid: Pid, fd: i32) -> Option<u64> {
    field(&info(pid, fd), "mnt_id:")?.parse().ok()
}

/// The number of the pseudo-terminal that a device number names: majors 136 to 143 are slaves, 256 each
/// (Documentation/admin-guide/devices.txt).
pub fn pty_of(device: u32) -> Option<u32> {
    let (major, minor) = (libc::major(u64::from(device)), libc::minor(u64::from(device)));
    (136..=143).contains(&major).then(|| (major - 136) * 256 + minor)
}

/// The set of signals that holds SIGCHLD alone.
const CHILDREN: u64 = 1 << (libc::SIGCHLD - 1);

/// What has no place in a file system, by the name that the kernel gives it.
fn anonymous(kind: &str, info: &str, reach: &Reach) -> Option<Object> {
    Some(match kind {
        "eventpoll" => Object::Epoll { on: watches(info) },
        "eventfd" => Object::Event { count: number(info, "eventfd-count:") },
        "timerfd" => Object::Timer { left_ms: timer(info, reach) },
        "signalfd" => match u64::from_str_radix(field(info, "sigmask:").unwrap_or_default().trim(), 16) {
            Ok(CHILDREN) => Object::Children,
            _ => Object::Signal,
        },
        "pidfd" => process(info),
        "inotify" | "fanotify" => Object::Inotify,
        "io_uring" => Object::Uring { files: number(info, "UserFiles:") },
        _ => return None,
    })
}

fn process(info: &str) -> Object {
    Object::Process { pid: field(info, "Pid:").and_then(|n| n.parse().ok()).unwrap_or(-1) }
}

fn object(pid: Pid, fd: i32, plain: &str, info: &str, reach: &Reach) -> Object {
    let link = visible(plain);
    if let Some(inode) = inode_of(&link, "pipe:[") {
        return Object::Pipe { inode };
    }
    if let Some(inode) = inode_of(&link, "socket:[") {
        return Object::Socket { inode };
    }
    if let Some(kind) = link.strip_prefix("anon_inode:") {
        return anonymous(kind.trim_matches(['[', ']']), info, reach).unwrap_or(Object::Other { link });
    }
    if link.starts_with("pidfd:[") {
        return process(info);
    }
    if link == "/dev/null" {
        return Object::Null;
    }
    if link.ends_with("/ptmx") {
        return match master((pid, fd), plain, info, reach) {
            Some(index) => Object::Master { index },
            None => Object::Other { link },
        };
    }
    let (mount, inode) = (field(info, "mnt_id:"), field(info, "ino:"));
    let parsed = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let Some(status) = reach.mounts.status(pid, fd, plain, parsed(mount), parsed(inode)) else {
        return Object::Other { link };
    };
    let device = libc::makedev(status.stx_rdev_major, status.stx_rdev_minor);
    match kind(&status) {
        FileType::Fifo => Object::Fifo { inode: status.stx_ino, path: link },
        FileType::CharacterDevice if is_terminal(device) => {
            let own = pty_of(u32::try_from(device).unwrap_or(0));
            let index = own.map(|index| pty((pid, fd), plain, info, index, reach));
            Object::Tty { index: index.or_else(|| own_terminal(pid, device, reach)), path: link }
        }
        FileType::RegularFile => {
            let device = (status.stx_dev_major, status.stx_dev_minor);
            let offset = number(info, "pos:");
            Object::File { inode: status.stx_ino, device, offset, at_end: offset >= status.stx_size, path: link }
        }
        _ => Object::Other { link },
    }
}

/// Majors of terminals: 4 consoles and serial lines, 5 /dev/tty and /dev/console, 136–143 pseudo-terminals, 188 USB
/// serial lines, 204 others; 229 hypervisor consoles (Documentation/admin-guide/devices.txt).
fn is_terminal(device: u64) -> bool {
    matches!(libc::major(device), 4 | 5 | 136..=143 | 188 | 204 | 229)
}

/// /dev/tty is the controlling terminal of the process that opened it.
fn own_terminal(pid: Pid, device: u64, reach: &Reach) -> Option<u64> {
    if (libc::major(device), libc::minor(device)) != (5, 0) {
        return None;
    }
    controlling_pty(pid, Stat::of(pid)?.number(4) as u32, reach)
}

/// What the kernel says of a descriptor.
pub fn info(pid: Pid, fd: i32) -> String {
    file::record(&format!("/proc/{pid}/fdinfo/{fd}")).unwrap_or_default()
}

fn field<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

fn number(info: &str, key: &str) -> u64 {
    let Some(text) = field(info, key) else { return 0 };
    // the kernel pads an eventfd's counter with blanks and writes it in base 16
    if key.starts_with("eventfd") { u64::from_str_radix(text, 16).unwrap_or(0) } else { text.parse().unwrap_or(0) }
}

/// `tfd:        7 events:       19 data: …`: the descriptors that an epoll instance watches.
fn watches(info: &str) -> Vec<Watch> {
    let lines = info.lines().filter_map(|line| line.strip_prefix("tfd:"));
    let watch = |line: &str| {
        let mut words = line.split_whitespace();
        let fd = words.next()?.parse().ok()?;
        let events = words.nth(1).and_then(|text| u32::from_str_radix(text, 16).ok())?;
        let any = |bits: i32| events & bits as u32 != 0;
        Some(Watch { fd, input: any(libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLPRI), output: any(libc::EPOLLOUT) })
    };
    lines.filter_map(watch).take(MAX_WATCHES).collect()
}

/// `it_value: (5, 431)`: seconds and nanoseconds until it fires; both 0: it is not armed.
fn timer(info: &str, reach: &Reach) -> Option<u64> {
    let pair = |name| {
        let (seconds, nanos) = field(info, name)?.trim_matches(['(', ')']).split_once(',')?;
        Some((seconds.trim().parse::<u64>().ok()?, nanos.trim().parse::<u64>().ok()?))
    };
    if let Some(left) = reach.time.as_ref().and_then(|time| time.timer_ms(pair("it_interval:")?.0)) {
        return left;
    }
    let (seconds, nanos) = pair("it_value:")?;
    (seconds > 0 || nanos > 0).then(|| seconds.saturating_mul(1000) + nanos.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::staged::{Staged, terminal};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::process::{Command, Stdio};

    fn of(pid: Pid, fd: i32) -> Option<Descriptor> {
        let table = Table::of(pid)?;
        table.link(fd, |link| table.descriptor(fd, link, &Reach::default())).ok()
    }

    /// A descriptor of this process.
    fn own(fd: &impl AsRawFd) -> Descriptor {
        of(std::process::id() as Pid, fd.as_raw_fd()).unwrap()
    }

    #[test]
    fn the_ends_of_a_pipe_have_one_inode_and_a_mode_each() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let (reader, writer) = (own(&reader), own(&writer));
        assert!(matches!(reader.what, Object::Pipe { inode } if inode > 0), "{reader:?}");
        assert_eq!(reader.what, writer.what);
        assert_eq!((reader.mode, writer.mode), (Mode::Read, Mode::Write));
    }

    #[test]
    fn files_and_what_is_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let meta = file.as_file().metadata().unwrap();
        let Object::File { path, inode, device, offset, .. } = own(file.as_file()).what else { panic!("a file") };
        assert_eq!((path.as_str(), inode, offset), (file.path().to_str().unwrap(), meta.ino(), 0));
        assert_eq!(device, (libc::major(meta.dev()), libc::minor(meta.dev())));
        assert_eq!(own(&fs::File::open("/dev/null").unwrap()).what, Object::Null);
        assert!(matches!(own(&fs::File::open("/dev/zero").unwrap()).what, Object::Other { .. }));
        assert!(matches!(own(&fs::File::open("/").unwrap()).what, Object::Other { .. }));
    }

    #[test]
    fn what_the_kernel_tells_of_a_descriptor() {
        let event: OwnedFd = rustix::event::eventfd(26, rustix::event::EventfdFlags::empty()).unwrap();
        assert_eq!(own(&event).what, Object::Event { count: 26 });
        let info = "pos:\t7\nflags:\t02000002\neventfd-count:               1a\n";
        assert_eq!([number(info, "pos:"), number(info, "eventfd-count:"), number(info, "none:")], [7, 26, 0]);
        assert_eq!(field(info, "flags:"), Some("02000002"));
        let watch = |fd, input, output| Watch { fd, input, output };
        let lines = "tfd:        7 events:       19 data: 7\ntfd:       12 events: 4 data: c\ntfd: x\ntfd: 13 events: 2010 data: 0\n";
        assert_eq!(watches(lines), [watch(7, true, false), watch(12, false, true), watch(13, true, false)]);
        let timer = |value: &str| super::timer(&format!("clockid: 0\nit_value: {value}\n"), &Reach::default());
        assert_eq!(timer("(5, 431)"), Some(5_001));
        assert_eq!(
            [timer("(0, 1000000)"), timer("(2, 0)"), timer("(0, 0)"), timer("?")],
            [Some(1), Some(2_000), None, None]
        );
    }

    #[test]
    fn numbers_of_devices() {
        let device = |major: u64, minor: u64| u32::try_from(libc::makedev(major as u32, minor as u32)).unwrap();
        let pty = |major, minor| pty_of(device(major, minor));
        assert_eq!(
            [pty(135, 0), pty(136, 3), pty(137, 1), pty(143, 0), pty(144, 0)],
            [None, Some(3), Some(257), Some(1_792), None]
        );
        let terminals = [3, 4, 5, 135, 136, 143, 144, 188, 204, 229].map(|major| is_terminal(device(major, 1).into()));
        assert_eq!(terminals, [false, true, true, false, true, true, false, true, true, true]);
        assert_eq!(inode_of("pipe:[12]", "pipe:["), Some(12));
        assert_eq!(
            [inode_of("socket:[12]", "pipe:["), inode_of("pipe:[x]", "pipe:["), inode_of("pipe:[1", "pipe:[")],
            [None; 3]
        );
    }

    #[test]
    fn what_has_no_place_in_a_file_system_has_a_name() {
        let of = |kind: &str, info: &str| anonymous(kind, info, &Reach::default());
        let watch = Watch { fd: 7, input: true, output: false };
        assert_eq!(of("eventpoll", "tfd: 7 events: 1 data: 0\n"), Some(Object::Epoll { on: vec![watch] }));
        assert_eq!(of("eventfd", "eventfd-count: 10\n"), Some(Object::Event { count: 16 }));
        assert_eq!(of("timerfd", "it_value: (1, 0)\n"), Some(Object::Timer { left_ms: Some(1_000) }));
        assert_eq!(of("pidfd", "Pid:\t12\n"), Some(Object::Process { pid: 12 }));
        assert_eq!([of("pidfd", ""), of("pidfd", "Pid:\t-1\n")], [const { Some(Object::Process { pid: -1 }) }; 2]);
        let named = ["signalfd", "inotify", "fanotify", "io_uring", "bpf-map", ""].map(|kind| of(kind, ""));
        use Object::{Inotify, Signal};
        let ring = |files| Some(Object::Uring { files });
        assert_eq!(named, [Some(Signal), Some(Inotify), Some(Inotify), ring(0), None, None]);
        assert_eq!(of("io_uring", "pos:\t0\nUserFiles:\t2\n    0: pipe:[7]\n"), ring(2));
        let any = |events: &str| watches(&format!("tfd: 7 events: {events} data: 0\n"))[0];
        let told =
            ["1", "2", "2000", "4", "2003", "5", "8", "80000018"].map(|events| (any(events).input, any(events).output));
        let (input, output, none) = ((true, false), (false, true), (false, false));
        assert_eq!(told, [input, input, input, output, input, (true, true), none, none]);
        assert_eq!(watches(&"tfd: 7 events: 1 data: 0\n".repeat(4_097)).len(), 4_096);
        let timer = |value: &str| super::timer(&format!("it_value: {value}\n"), &Reach::default());
        assert_eq!([timer("(0, 1)"), timer("(0, 1000001)"), timer("(1, 0)")], [Some(1), Some(2), Some(1_000)]);
    }

    #[test]
    fn descriptors_of_this_process_are_what_they_are() {
        use rustix::event::epoll;
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        epoll::add(&queue, &reader, epoll::EventData::new_u64(0), epoll::EventFlags::IN).unwrap();
        let watch = Watch { fd: reader.as_raw_fd(), input: true, output: false };
        assert_eq!(own(&queue).what, Object::Epoll { on: vec![watch] });
        let cat = Staged::cat(Stdio::piped());
        let pid = rustix::process::Pid::from_raw(cat.pid()).unwrap();
        let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        assert_eq!(own(&process).what, Object::Process { pid: cat.pid() });
        let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(matches!(own(&one), Descriptor { mode: Mode::Both, what: Object::Socket { inode: 1.. }, .. }));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let fifo = fs::File::options().read(true).write(true).open(&path).unwrap();
        let inode = fifo.metadata().unwrap().ino();
        let path = path.to_str().unwrap().to_owned();
        assert_eq!(own(&fifo).what, Object::Fifo { inode, path: path.clone() });
        let pid = std::process::id() as Pid;
        let reach = Reach::default();
        let told = |fd, link: &str, wanted| inode_and_kind(pid, fd, Path::new(link), &reach, |inode| inode == wanted);
        assert_eq!(told(fifo.as_raw_fd(), &path, inode), Some((inode, true)));
        let file = tempfile::tempfile().unwrap();
        let inode = file.metadata().unwrap().ino();
        assert_eq!(told(file.as_raw_fd(), "/x", inode), Some((inode, false)));
        assert_eq!((told(file.as_raw_fd(), "/x", inode + 1), told(-1, "/x", 0), of(pid, -1)), (None, None, None));
        let mut found = false;
        let whole = each_link(pid, &reach, |fd, link| {
            found |= fd == fifo.as_raw_fd() && link.to_str() == Some(&path);
            ControlFlow::Continue(())
        });
        assert!(whole && found && !each_link(Pid::MAX, &reach, |_, _| ControlFlow::Continue(())));
    }

    /// What the limit leaves unread is not there, and that is known.
    #[test]
    fn descriptors_that_are_not_read_in_time_are_known_to_be_missing() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let many: Vec<OwnedFd> = (0..100).map(|_| reader.try_clone().unwrap()).collect();
        let pid = std::process::id() as Pid;
        let limit = super::super::Limit::new(std::time::Duration::ZERO, std::sync::Arc::default());
        let reach = Reach { limit, ..Reach::default() };
        let (fds, whole) = read(pid, &reach);
        assert!(fds.len() < many.len() && !whole, "{}", fds.len());
        assert!(!each_link(pid, &reach, |_, _| ControlFlow::Continue(())));
        let (fds, whole) = read(pid, &Reach::default());
        assert!(fds.len() > many.len() && whole);
        assert!(count(pid) >= many.len() as u64 && count(Pid::MAX) == 0);
    }

    #[test]
    fn all_descriptors_of_a_child_in_their_order() {
        let cat = Staged::cat(Stdio::piped());
        let (fds, are_read) = read(cat.pid(), &Reach::default());
        let told: Vec<_> = fds.iter().map(|fd| (fd.fd, fd.mode, matches!(fd.what, Object::Null))).collect();
        let wanted = [(0, Mode::Read, false), (1, Mode::Write, true), (2, Mode::Write, true)];
        // whoever started this test may have left it others
        assert_eq!((&told[..3], are_read), (wanted.as_slice(), true));
        assert!(told.is_sorted_by_key(|(fd, ..)| *fd));
        assert_eq!(read(Pid::MAX, &Reach::default()), (vec![], false));
    }

    #[test]
    fn a_terminal_and_its_master_have_one_number() {
        let (master, path) = terminal();
        let index: u64 = path.strip_prefix("/dev/pts/").unwrap().parse().unwrap();
        let (own_pid, reach) = (std::process::id() as Pid, Reach::default());
        assert_eq!(own(&master).what, Object::Master { index });
        assert_eq!(master_index(own_pid, master.as_raw_fd(), "/dev/ptmx", &reach), Some(index));
        let slave = fs::File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(&path).unwrap();
        assert_eq!(own(&slave).what, Object::Tty { path: path.clone(), index: Some(index) });
        assert_eq!(master_index(own_pid, slave.as_raw_fd(), &path, &reach), None);
        // a process that has it as its controlling terminal knows it by another name too
        let shell = Staged::at_terminal(Command::new("sh").args(["-c", "exec cat </dev/tty"]), &path);
        shell.is_in(libc::SYS_read);
        super::super::staged::until(|| {
            let fd = of(shell.pid(), 0)?;
            (fd.what == Object::Tty { path: "/dev/tty".to_owned(), index: Some(index) }).then_some(())
        });
        let device = |major: u32, minor: u32| libc::makedev(major, minor);
        assert_eq!(own_terminal(shell.pid(), device(5, 0), &reach), Some(index));
        assert_eq!(
            [device(5, 1), device(4, 0), device(136, 1)].map(|device| own_terminal(shell.pid(), device, &reach)),
            [None; 3]
        );
        assert_eq!(own_terminal(Pid::MAX, device(5, 0), &reach), None);
    }
}
