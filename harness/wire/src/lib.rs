//! The protocols of the agents and the models.
//!
//! Pure and sans-IO: bytes to messages, and back. Invariant: no codec here holds a descriptor or a clock,
//! every one has a limit on what it buffers, and none panics on wire bytes.

mod buffer;
pub mod claude;
pub mod http;
#[cfg(all(test, feature = "script"))]
mod laws;
pub mod mcp;
pub mod model;
pub mod opencode;
pub mod sse;

use std::borrow::Cow;

/// The text of these bytes, with U+FFFD for invalid UTF-8. Valid text is checked once, word by word:
/// [`String::from_utf8_lossy`] goes byte by byte.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
