//! What a tracer that runs a tree in virtual time tells a program of that tree which asks.
//!
//! `prctl(VIEW, buffer, length)` returns the length of a [`View`] in JSON, which is written into the buffer if it is long
//! enough. Without a tracer, and under any other one, the kernel returns EINVAL.

use serde::{Deserialize, Serialize};

/// The option of `prctl`. The kernel's own are small numbers, or two letters in the upper half.
pub const VIEW: u32 = 0x7265_6877;

/// The tree at an instant. Times are in nanoseconds; instants are counted since boot, as processes' births are. Processes and
/// threads have the numbers that the asking program sees.
#[derive(Debug, Serialize, Deserialize)]
pub struct View {
    /// The instant.
    pub now: u64,
    /// The processes that the asking program can see.
    pub processes: Vec<ViewOfProcess>,
    /// Their threads.
    pub threads: Vec<ViewOfThread>,
    /// The interval in seconds that `/proc/PID/fdinfo/FD` shows for a timerfd, and the time left if it is armed.
    pub timerfds: Vec<(u64, Option<u64>)>,
    /// How long ago in real time the clock jumped, and to which instant; the last jump first.
    pub jumps: Vec<(u64, u64)>,
    /// What the clock showed before these.
    pub before: u64,
}

/// A process.
#[derive(Debug, Serialize, Deserialize)]
pub struct ViewOfProcess {
    /// Its id.
    pub pid: i32,
    /// When it began.
    pub began: u64,
    /// Whether `alarm` or `setitimer` has armed its timer.
    pub has_alarm: bool,
}

/// A thread.
#[derive(Debug, Serialize, Deserialize)]
pub struct ViewOfThread {
    /// Its id.
    pub tid: i32,
    /// The number and the arguments of the system call that it waits in, as the program made it.
    pub call: Option<(i64, [u64; 6])>,
    /// The time left until the wait ends by itself.
    pub left: Option<u64>,
    /// A signal stopped it.
    pub is_stopped: bool,
}
