//! Why a process tree on this machine does not move: what the kernel says of it, and what that means.
