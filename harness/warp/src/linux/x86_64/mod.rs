//! What is particular to x86-64: registers, the seccomp architecture, the vDSO's replacement.

pub mod regs;
pub mod vdso;
