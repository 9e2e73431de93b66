//! Reads files of /proc as a whole, and its links.
//!
//! Invariant: the kernel is asked for more than it gives at once (a page, of a list), never for less: between two reads
//! of one list it may change, and then a line after one that was removed is left out.

use crate::data::Pid;
use rehang_words::text::visible;
use rustix::fs::{Mode, OFlags, RawDir};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

/// What one read has room for, in bytes: more than a page of any architecture's usual size.
const ROOM: usize = 16_384;
/// The most bytes of one file: the arguments of a process may be some megabytes.
const MAX_BYTES: usize = 16 << 20;

/// A file, and in how many pieces the kernel gave it. If there was more than one, the parts of a list may be of
/// different moments.
pub fn pieces(path: &str) -> rustix::io::Result<(Vec<u8>, usize)> {
    read(path, false)
}

/// Reads to the end, or, of a record, to a piece that was not cut.
fn read(path: &str, is_record: bool) -> rustix::io::Result<(Vec<u8>, usize)> {
    let file = rustix::fs::open(path, OFlags::RDONLY.union(OFlags::CLOEXEC), Mode::empty())?;
    let mut room = [MaybeUninit::uninit(); ROOM];
    let (mut all, mut pieces) = (Vec::new(), 0);
    while all.len() < MAX_BYTES {
        let read = match rustix::io::read(&file, &mut room) {
            Err(rustix::io::Errno::INTR) => continue,
            read => read?.0,
        };
        all.extend_from_slice(read);
        pieces += usize::from(!read.is_empty());
        if read.is_empty() || (is_record && read.len() < ROOM) {
            break;
        }
    }
    Ok((all, pieces))
}

/// A file's bytes.
pub fn bytes(path: &str) -> rustix::io::Result<Vec<u8>> {
    pieces(path).map(|(bytes, _)| bytes)
}

/// A file's text; bytes that are not UTF-8 (a process may give itself any name) are replaced.
pub fn text(path: &str) -> rustix::io::Result<String> {
    bytes(path).map(as_text)
}

/// The text of a file that is no list: the kernel makes it anew for one read, which gives all of it if it has room.
pub fn record(path: &str) -> rustix::io::Result<String> {
    record_bytes(path).map(as_text)
}

/// The bytes of such a file.
pub fn record_bytes(path: &str) -> rustix::io::Result<Vec<u8>> {
    read(path, true).map(|(bytes, _)| bytes)
}

fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// What a link of /proc says, as it may be shown. The kernel knows it: no file system is asked.
pub fn link(path: &str) -> Option<String> {
    plain_link(path).map(|to| visible(&to))
}

/// The same as it is, for the kernel and not for a terminal.
pub fn plain_link(path: &str) -> Option<String> {
    std::fs::read_link(path).ok().map(|to| to.to_string_lossy().into_owned())
}

/// The inode in a link such as `pipe:[123]`.
pub fn inode_of(link: &str, prefix: &str) -> Option<u64> {
    link.strip_prefix(prefix)?.strip_suffix(']')?.parse().ok()
}

/// The numbers that name entries of a folder of /proc: processes, threads or descriptors. Nothing but the kernel's own
/// answer in one buffer is kept.
pub fn numbers(folder: &OwnedFd, mut see: impl FnMut(i32) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut entries = RawDir::new(folder, &mut room);
    while let Some(Ok(entry)) = entries.next() {
        if let Some(number) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok()) {
            see(number)?;
        }
    }
    ControlFlow::Continue(())
}

/// Opens a folder of /proc.
pub fn folder(path: &str) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC), Mode::empty())
}

/// The inode of one of a process's namespaces; 0 if it may not be read.
pub fn namespace(pid: Pid, kind: &str) -> u64 {
    let link = link(&format!("/proc/{pid}/ns/{kind}")).unwrap_or_default();
    inode_of(&link, &format!("{kind}:[")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_in_pieces_up_to_the_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let of_size = |size: usize| {
            file.as_file().set_len(size as u64).unwrap();
            pieces(file.path().to_str().unwrap()).map(|(bytes, pieces)| (bytes.len(), pieces)).unwrap()
        };
        assert_eq!([0, 1, ROOM, ROOM + 1].map(of_size), [(0, 0), (1, 1), (ROOM, 1), (ROOM + 1, 2)]);
        assert_eq!(of_size(MAX_BYTES + 1), (MAX_BYTES, MAX_BYTES / ROOM));
        assert!(pieces("/proc/no-such-file").is_err());
        std::fs::write(file.path(), b"a\xffb").unwrap();
        assert_eq!(text(file.path().to_str().unwrap()).unwrap(), "a\u{fffd}b");
    }
}
