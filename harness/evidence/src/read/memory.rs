//! A few bytes of another process's memory: the time limits, descriptor lists and paths that its call points to.
//!
//! Invariant: bounded; reads only, and a page that is not mapped gives `None`.

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
    // not beyond the end of the page, which may be the last one that is mapped
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

/// Seconds and microseconds in milliseconds, rounded up; negative parts count as 0.
pub fn whole_ms(seconds: i64, micros: i64) -> u64 {
    let whole = |part: i64| u64::try_from(part).unwrap_or(0);
    whole(seconds).saturating_mul(1000).saturating_add(whole(micros).div_ceil(1000))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Pid {
        std::process::id() as Pid
    }

    fn address<T: ?Sized>(of: &T) -> u64 {
        std::ptr::from_ref(of).cast::<u8>() as u64
    }

    #[test]
    fn times_are_rounded_up_and_none_is_negative() {
        let of = |pair: [i64; 2]| (timespec_ms(own(), address(&pair)), timeval_ms(own(), address(&pair)));
        assert_eq!(of([2, 0]), (Some(2_000), Some(2_000)));
        assert_eq!(of([0, 1]), (Some(1), Some(1)));
        assert_eq!(of([1, 1_000_000]), (Some(1_001), Some(2_000)));
        assert_eq!(of([-1, -5]), (Some(0), Some(0)));
        assert_eq!(of([i64::MAX, 0]), (Some(u64::MAX), Some(u64::MAX)));
    }

    #[test]
    fn a_text_ends_with_a_zero_and_may_lie_over_the_end_of_a_page() {
        let mut all = vec![b'x'; 3 * 4_096];
        let page = 4_096 - (address(all.as_slice()) % 4_096) as usize;
        all[page + 20] = 0;
        assert_eq!(text(own(), address(&all[page - 10])).map(|text| text.len()), Some(30));
        assert_eq!(text(own(), address(&all[page])).map(|text| text.len()), Some(20));
        assert_eq!(text(own(), address(&all[page + 21])), None, "none within 4,096 bytes");
        assert_eq!(text(own(), 0), None);
    }

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!((bytes(own(), 0, 8), bytes(own(), 8, 8), bytes(own(), address(&1_u8), 0)), (None, None, None));
        assert_eq!(array::<4>(own(), address(&[1_u8, 2, 3, 4])), Some([1, 2, 3, 4]));
        assert_eq!(bytes(own(), address(vec![7_u8; 70_000].as_slice()), 70_000).map(|all| all.len()), Some(65_536));
    }

    /// Three pages, of which the last may not be read.
    #[test]
    fn a_text_may_end_with_the_last_page_that_is_mapped() {
        let (size, rights, flags) =
            (3 * 4_096, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which nothing else knows; it is written only while it may be
        let base = unsafe {
            let base = libc::mmap(std::ptr::null_mut(), size, rights, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            base.cast::<u8>().write_bytes(b'x', size);
            base.cast::<u8>().add(2 * 4_096 - 1).write(0);
            assert_eq!(libc::mprotect(base.byte_add(2 * 4_096), 4_096, libc::PROT_NONE), 0);
            base
        };
        let at = base as u64;
        let length = |offset: u64| text(own(), at + offset).map(|text| text.len());
        assert_eq!([4_097, 8_000, 8_191].map(length), [Some(4_094), Some(191), Some(0)]);
        assert_eq!([4_096, 4_095, 8_192].map(length), [Some(4_095), None, None], "at most 4,096 bytes with the zero");
        assert_eq!(bytes(own(), at + 8_190, 4).map(|all| all.len()), Some(2), "as far as it is mapped");
        assert_eq!((array::<4>(own(), at + 8_190), array::<2>(own(), at + 8_190)), (None, Some([b'x', 0])));
        // SAFETY: the mapping of this test
        assert_eq!(unsafe { libc::munmap(base, size) }, 0);
    }
}
