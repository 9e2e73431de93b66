//! A few bytes of another process's memory: the time limits, descriptor lists and paths that its call points to.
//!
//! Invariant: bounded; reads only, and a page that is not there gives `None`.

use crate::data::Pid;
use std::io::IoSliceMut;

/// Reads exactly `N` bytes.
pub fn array<const N: usize>(pid: Pid, at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    (read(pid, at, &mut bytes)? == N).then_some(bytes)
}

/// Reads `len` bytes, at most 64 KiB.
pub fn bytes(pid: Pid, at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len.min(65_536)];
    let read = read(pid, at, &mut bytes)?;
    bytes.truncate(read);
    Some(bytes)
}

/// Reads a text that ends with a zero byte, at most 4,096 bytes (`PATH_MAX`).
pub fn text(pid: Pid, at: u64) -> Option<String> {
    // not over the end of the page, which may be the last one there
    let to_page = 4096 - (at % 4096) as usize;
    let mut all = bytes(pid, at, to_page)?;
    if !all.contains(&0) {
        all.extend(bytes(pid, at + to_page as u64, 4096 - to_page).unwrap_or_default());
    }
    let end = all.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&all[..end]).into_owned())
}

/// A `timespec` in milliseconds, rounded up; negative parts count as 0.
pub fn timespec_ms(pid: Pid, at: u64) -> Option<u64> {
    let (seconds, nanos) = pair(pid, at)?;
    Some(seconds.saturating_mul(1000).saturating_add(nanos.div_ceil(1_000_000)))
}

/// A `timeval` in milliseconds, rounded up.
pub fn timeval_ms(pid: Pid, at: u64) -> Option<u64> {
    let (seconds, micros) = pair(pid, at)?;
    Some(seconds.saturating_mul(1000).saturating_add(micros.div_ceil(1000)))
}

fn pair(pid: Pid, at: u64) -> Option<(u64, u64)> {
    let bytes: [u8; 16] = array(pid, at)?;
    let (first, second) = bytes.split_at(8);
    let word = |half: &[u8]| half.try_into().map(i64::from_ne_bytes).unwrap_or(0).max(0) as u64;
    Some((word(first), word(second)))
}

fn read(pid: Pid, at: u64, into: &mut [u8]) -> Option<usize> {
    if at == 0 || into.is_empty() {
        return None;
    }
    let remote = nix::sys::uio::RemoteIoVec { base: usize::try_from(at).ok()?, len: into.len() };
    let mut local = [IoSliceMut::new(into)];
    nix::sys::uio::process_vm_readv(nix::unistd::Pid::from_raw(pid), &mut local, &[remote]).ok()
}
