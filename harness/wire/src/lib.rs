//! What is spoken: the agents' and the models' protocols.
//!
//! Pure and sans-IO: bytes in, messages out, and back. Invariant: no codec here holds a descriptor or a clock,
//! every one has a limit on what it buffers, and none panics on wire bytes.

mod buffer;
pub mod claude;
pub mod http;
#[cfg(test)]
mod laws;
pub mod model;
pub mod opencode;
pub mod sse;

use std::borrow::Cow;

/// The text of these bytes, with U+FFFD for what is no UTF-8. What is right is looked through once, by words:
/// [`String::from_utf8_lossy`] goes byte by byte.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
