//! The processes below this one and how they are ended; what a machine may refuse, with the remedy; the cache folder; files in memory.

pub mod cache;
pub mod machine;
pub mod memory;
pub mod tree;
