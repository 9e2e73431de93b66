//! What is spoken: the agents' and the models' protocols.
//!
//! Pure and sans-IO: bytes in, messages out, and back. Invariant: no codec here holds a descriptor or a clock,
//! every one has a limit on what it buffers, and none panics on wire bytes.

mod buffer;
pub mod claude;
pub mod http;
pub mod model;
pub mod opencode;
pub mod sse;
