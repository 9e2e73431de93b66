//! Mounts as a list gives them, paths that are walked, and a mount whose server keeps silent.
//!
//! Invariant: the silent mount is gone when its test ends, however it ends.

use super::*;
use crate::data::{Object, Process};
use crate::read::staged::Staged;
use crate::read::{Options, Reach, take};
use nix::mount::{MntFlags, MsFlags};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

fn own() -> Pid {
    std::process::id() as Pid
}

#[test]
fn a_list_names_each_mount_and_the_last_one_covers_a_place() {
    let table = Table::parse(
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
         30 27 0:41 / /mnt/a\\040b rw shared:1 master:2 - nfs4 host:/x\\134y rw,addr=1.2.3.4\n\
         31 27 0:42 / /mnt/c rw - tmpfs tmpfs rw\n\
         32 31 0:43 / /mnt/c rw - fuse.sshfs me@host: rw\n\
         no mount\n33 x\n",
    );
    let told: Vec<_> = table.mounts.iter().map(|mount| (mount.id, mount.at.as_str(), mount.answers())).collect();
    let wanted = [
        (27, "/", Answers::Kernel),
        (30, "/mnt/a b", Answers::Server),
        (31, "/mnt/c", Answers::Kernel),
        (32, "/mnt/c", Answers::Fuse),
    ];
    assert_eq!(told, wanted);
    assert_eq!((table.mounts[1].device, table.mounts[1].source.as_str()), ((0, 41), "host:/x\\y"));
    assert_eq!(table.at("/mnt/c").map(|mount| mount.id), Some(32));
    assert_eq!((table.at("/mnt"), table.by_id(99)), (None, None));
    assert_eq!(table.by_id(27).and_then(Mount::server), None);
    let server = table.by_id(30).and_then(Mount::server).unwrap();
    assert_eq!([server.mount, server.kind, server.source], ["/mnt/a b", "nfs4", "host:/x\\y"]);
}

#[test]
fn a_kind_that_is_not_listed_has_a_server() {
    let of = ["ext4", "overlay", "fuse", "fuse.nfs", "fuseblk", "virtiofs", "nfs", "cifs", "9p", "autofs", "", "new"];
    let (kernel, fuse, server) = (Answers::Kernel, Answers::Fuse, Answers::Server);
    let wanted = [kernel, kernel, fuse, fuse, fuse, fuse, server, server, server, server, server, server];
    assert_eq!(of.map(Answers::of), wanted);
    assert!(LOCAL.is_sorted());
}

#[test]
fn a_path_is_walked_over_links() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("sub")).unwrap();
    std::fs::write(base.join("file"), "text").unwrap();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, base.join(name)).unwrap();
    link("file", "near");
    link(base.join("sub/../near").to_str().unwrap(), "far");
    link("round", "round");
    link("gone", "broken");
    let mounts = Mounts::default();
    let size = |name: &str| {
        let file = mounts.walk(own(), base.join(name).to_str().unwrap()).ok()?;
        remembered_at(&file).map(|status| status.stx_size)
    };
    assert_eq!(["file", "near", "far", "sub/../file", "./sub//../far"].map(size), [Some(4); 5]);
    assert_eq!(
        ["round", "broken", "gone", "file/x", "near/.."].map(|name| size(name).is_some()),
        [false, false, false, false, true]
    );
    assert!(mounts.walk(own(), "/../..").is_ok() && mounts.walk(Pid::MAX, "/").is_err());
}

/// A mount whose server answers what is needed to open its one file, and nothing else.
struct Silent {
    at: tempfile::TempDir,
    /// The server ends when this is closed, and the connection with it: whoever waits for an answer gets an error.
    stop: Option<std::io::PipeWriter>,
    server: Option<std::thread::JoinHandle<()>>,
}

/// A process that waits there; the mount goes first, or nothing could end the process.
struct Scene {
    silent: Silent,
    cat: Staged,
}

impl Silent {
    /// `None`: this process may not mount.
    fn mount() -> Option<Silent> {
        let device = std::fs::File::options().read(true).write(true).open("/dev/fuse").ok()?;
        let at = tempfile::tempdir().unwrap();
        let words = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        nix::mount::mount(Some("quiet"), at.path(), Some("fuse.quiet"), MsFlags::empty(), Some(words.as_str())).ok()?;
        let (stopped, stop) = std::io::pipe().unwrap();
        let server = std::thread::spawn(move || serve(device, &stopped));
        Some(Silent { at, stop: Some(stop), server: Some(server) })
    }

    fn file(&self) -> PathBuf {
        self.at.path().join("f")
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(self.at.path(), MntFlags::MNT_DETACH);
        self.stop = None;
        let _ = self.server.take().map(std::thread::JoinHandle::join);
    }
}

/// Answers INIT, LOOKUP of `f`, OPEN and OPENDIR, and GETATTR of the root, and knows no FLUSH (include/uapi/linux/fuse.h).
fn serve(mut device: std::fs::File, stopped: &std::io::PipeReader) {
    let mut room = vec![0; 1 << 20];
    loop {
        let mut polled = [PollFd::new(&device, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        poll(&mut polled, None).unwrap();
        if !polled[1].revents().is_empty() {
            return;
        }
        let Ok(size @ 40..) = device.read(&mut room) else { return };
        let word = |at: usize| u64::from_ne_bytes(room[at..at + 8].try_into().unwrap());
        let (operation, unique, node) = (word(0) >> 32, word(8), word(16));
        let attributes = |node: u64, mode: u32| {
            let mut all = Vec::new();
            [node, 4096, 8, 0, 0, 0].iter().for_each(|n| all.extend(n.to_ne_bytes()));
            [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0_u32].iter().for_each(|n| all.extend(n.to_ne_bytes()));
            all
        };
        let answer: Vec<u8> = match operation {
            26 => [7_u32, 31, 65_536, 0, 12 | 10 << 16, 65_536, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
                .map(u32::to_ne_bytes)
                .concat(),
            3 if node == 1 => [[1_u64, 0].map(u64::to_ne_bytes).concat(), attributes(1, 0o40_755)].concat(),
            1 if room[40..size] == *b"f\0" => {
                [[2_u64, 0, 1, 1, 0].map(u64::to_ne_bytes).concat(), attributes(2, 0o100_644)].concat()
            }
            14 | 27 => [7_u64, 0].map(u64::to_ne_bytes).concat(),
            25 => {
                let head = [16_u64 | ((-libc::ENOSYS) as u32 as u64) << 32, unique].map(u64::to_ne_bytes).concat();
                let _ = device.write_all(&head);
                continue;
            }
            _ => continue,
        };
        let length = 16 + answer.len() as u64;
        let head = [length, unique].map(u64::to_ne_bytes).concat();
        let _ = device.write_all(&[head, answer].concat());
    }
}

/// What `f` finds, a few hundred looks later at most: other looks at this machine wait while the mount is there.
fn soon<T>(mut f: impl FnMut() -> Option<T>) -> T {
    (0..500).find_map(|_| f()).expect("it waits for the server")
}

/// As root: a look at a process that waits for a silent server does not wait for it too, and names it.
#[test]
fn a_silent_server_is_named_and_not_asked() {
    let Some(silent) = Silent::mount() else { return };
    let place = silent.at.path().to_str().unwrap().to_owned();
    let file = silent.file();
    let script = format!("exec <{}; exec cat", file.display());
    let cat = Staged::start(Command::new("sh").args(["-c", &script]));
    let scene = Scene { silent, cat };
    let cat = &scene.cat;
    let looked = soon(|| {
        let snapshot = take(&[cat.pid()], &Options { records: true, ..Options::default() }).ok()?;
        let process = snapshot.tree.get(&cat.pid())?.clone();
        // the shell's opening of the file waits for the server too, for a moment
        let is_open = process.fd(0).is_some_and(|fd| matches!(fd.what, Object::File { .. }));
        (is_open && process.threads.first()?.server.is_some()).then_some(process)
    });
    let server = looked.threads[0].server.clone().unwrap();
    assert_eq!([&server.mount, &server.kind, &server.source], [&place, "fuse.quiet", "quiet"]);
    // the kernel's count is there if its file system is mounted
    assert!(server.unanswered.is_none_or(|count| count > 0), "{server:?}");
    // what the kernel remembers of the file is known
    let Some(Object::File { path, inode: 2, .. }) = looked.fd(0).map(|fd| &fd.what) else { panic!("{:?}", looked.fds) };
    assert_eq!(path, file.to_str().unwrap());
    // no path there is walked, its root included
    let mounts = Mounts::default();
    let walked = |path: &str| mounts.walk(own(), path);
    for path in [place.clone(), format!("{place}/f"), format!("{place}/gone/x")] {
        assert!(matches!(walked(&path), Err(Unreached::Behind(mount)) if mount.at == place), "{path}");
    }
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&place, outside.path().join("link")).unwrap();
    let linked = outside.path().join("link/f");
    assert!(matches!(walked(linked.to_str().unwrap()), Err(Unreached::Behind(_))));
    // an agent's records there are left out
    let process = Process { pid: own(), ..Process::default() };
    assert_eq!(crate::read::records::tail(&process, file.to_str().unwrap(), 5, &Reach::default()), None);
    assert_eq!(mounts.server_of(own(), "/"), None);
    drop(scene.silent);
}
