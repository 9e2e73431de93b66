//! Files of /proc, whole.
//!
//! Invariant: the kernel is asked for more than it gives at once (a page, of a list), never for less: between two reads of
//! one list it may change, and what stood behind a line that went is then left out.

use rustix::fs::{Mode, OFlags};
use std::mem::MaybeUninit;

/// What one read has room for, in bytes: more than a page of any architecture's usual size.
const ROOM: usize = 16_384;
/// The most bytes of one file: the arguments of a process may be some megabytes.
const MAX_BYTES: usize = 16 << 20;

/// A file, and in how many pieces the kernel gave it. More than one: of a list, not all need be of one moment.
pub fn pieces(path: &str) -> rustix::io::Result<(Vec<u8>, usize)> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut room = [MaybeUninit::uninit(); ROOM];
    let (mut all, mut pieces) = (Vec::new(), 0);
    while all.len() < MAX_BYTES {
        let read = match rustix::io::read(&file, &mut room) {
            Err(rustix::io::Errno::INTR) => continue,
            read => read?.0,
        };
        if read.is_empty() {
            break;
        }
        all.extend_from_slice(read);
        pieces += 1;
    }
    Ok((all, pieces))
}

/// A file's bytes.
pub fn bytes(path: &str) -> rustix::io::Result<Vec<u8>> {
    pieces(path).map(|(bytes, _)| bytes)
}

/// A file's text; what is none (a process may give itself any name) is replaced.
pub fn text(path: &str) -> rustix::io::Result<String> {
    let bytes = bytes(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
