//! The processes below this one and how they are ended; what a machine may refuse, with the remedy; the cache folder.

pub mod cache;
pub mod machine;
pub mod tree;
