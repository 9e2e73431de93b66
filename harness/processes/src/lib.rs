//! The processes below this one and how they are ended, and what a machine may refuse, with the remedy.

pub mod machine;
pub mod tree;
