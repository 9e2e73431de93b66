//! What gives a process its memory: mimalloc, but libc's own in a fake that takes part in a cell.
//!
//! A cell makes and drops some thousand small texts: with mimalloc the matrix on sim takes a seventh less. It has pages for
//! each size, though, and a participant lives for a few milliseconds: most of them it would touch once, and each costs a fault
//! of the kernel's.
//!
//! Invariant: a process has one of them from its first allocation to its end, and what is forked has its parent's.

use mimalloc::MiMalloc;
use rehang_os::lockstep::protocol::CONTROL_ENV;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, Ordering};

/// The allocator of each binary that plays cells.
pub struct Allocator;

const NOT_CHOSEN: u8 = 0;
const MIMALLOC: u8 = 1;
const LIBC: u8 = 2;

static CHOSEN: AtomicU8 = AtomicU8::new(NOT_CHOSEN);

/// [`CONTROL_ENV`], as libc wants it.
const NAME: &CStr = c"REHANG_CONTROL";
const _: () = assert!(is_same(NAME.to_bytes(), CONTROL_ENV.as_bytes()));

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([a, one @ ..], [b, other @ ..]) => *a == *b && is_same(one, other),
        _ => false,
    }
}

/// Whether libc's is this process's allocator.
#[inline]
fn is_libc() -> bool {
    match CHOSEN.load(Ordering::Relaxed) {
        NOT_CHOSEN => choose(),
        chosen => chosen == LIBC,
    }
}

#[cold]
fn choose() -> bool {
    // SAFETY: the name ends with a NUL; nobody changes the environment before the first allocation.
    let takes_part = !unsafe { libc::getenv(NAME.as_ptr()) }.is_null();
    #[cfg(target_env = "gnu")]
    if takes_part {
        // its heap grows in large steps and never shrinks: each step is a call of the kernel's
        // SAFETY: sets numbers of libc's; if it cannot, that costs time.
        unsafe {
            libc::mallopt(libc::M_TOP_PAD, 1 << 20);
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        }
    }
    CHOSEN.store(if takes_part { LIBC } else { MIMALLOC }, Ordering::Relaxed);
    takes_part
}

// SAFETY: what one of the two gave, the same one takes back.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { if is_libc() { System.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { if is_libc() { System.alloc_zeroed(layout) } else { MiMalloc.alloc_zeroed(layout) } }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { if is_libc() { System.dealloc(at, layout) } else { MiMalloc.dealloc(at, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { if is_libc() { System.realloc(at, layout, size) } else { MiMalloc.realloc(at, layout, size) } }
    }
}
