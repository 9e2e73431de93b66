//! System calls that no crate of the workspace wraps: `ptrace`, waiting for tracees, their memory and their files.
//!
//! Invariant: a thread that has died in the meantime is no error; its calls do nothing or return `None`, and its death
//! is reported by [`wait`].

use super::x86_64::regs::Regs;
use libc::{c_int, c_uint, c_void, iovec, timespec};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `PTRACE_EVENT_STOP` of <linux/ptrace.h>.
pub const EVENT_STOP: c_int = 128;
/// `PTRACE_EVENT_SECCOMP`, `_FORK`, `_VFORK`, `_CLONE`, `_EXEC`, `_VFORK_DONE`, `_EXIT` are libc's.
const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEVFORKDONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_EXITKILL;
/// `PTRACE_PEEKSIGINFO` and `PTRACE_GETSIGMASK` of <linux/ptrace.h>.
const PEEKSIGINFO: c_uint = 0x4209;
const GETSIGMASK: c_uint = 0x420a;

fn ptrace(request: c_uint, tid: i32, address: usize, data: usize) -> i64 {
    // SAFETY: every caller passes pointers to buffers of the size that the request wants, or numbers.
    unsafe { libc::ptrace(request, tid, address, data) as i64 }
}

/// Begins to trace a process. It goes on running. It does not stop at its end until [`report_end`] was called.
pub fn seize(pid: i32) -> io::Result<()> {
    match ptrace(libc::PTRACE_SEIZE, pid, 0, (OPTIONS & !libc::PTRACE_O_TRACEEXIT) as usize) {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Lets a stopped thread stop once more at its end.
pub fn report_end(tid: i32) {
    ptrace(libc::PTRACE_SETOPTIONS, tid, 0, OPTIONS as usize);
}

/// Lets a stopped thread run to its next event, with a signal unless that is 0.
pub fn resume(tid: i32, signal: i32) {
    ptrace(libc::PTRACE_CONT, tid, 0, signal as usize);
}

/// Lets a stopped thread run to the end of its system call.
pub fn resume_to_exit(tid: i32) {
    ptrace(libc::PTRACE_SYSCALL, tid, 0, 0);
}

/// Lets a thread stay in its group-stop, and reports its end.
pub fn listen(tid: i32) {
    ptrace(libc::PTRACE_LISTEN, tid, 0, 0);
}

/// Cuts a wait.
pub fn interrupt(tid: i32) {
    ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0);
}

/// The number that came with an event.
pub fn event_message(tid: i32) -> i32 {
    let mut message = 0_u64;
    ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message as usize);
    message as i32
}

/// The registers of a stopped thread.
pub fn registers(tid: i32) -> Option<Regs> {
    // SAFETY: the structure consists of integers.
    let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    (ptrace(libc::PTRACE_GETREGS, tid, 0, &raw mut regs as usize) >= 0).then_some(Regs(regs))
}

/// Changes the registers of a stopped thread.
pub fn set_registers(tid: i32, regs: &Regs) {
    ptrace(libc::PTRACE_SETREGS, tid, 0, &raw const regs.0 as usize);
}

/// `struct ptrace_peeksiginfo_args` of <linux/ptrace.h>.
#[repr(C)]
struct PeekSignals {
    offset: u64,
    flags: u32,
    count: i32,
}

/// Whether a stopped thread has a signal that it does not block, in its own queue or in that of its process. `None` if it
/// is not stopped any more: it is being killed.
pub fn has_signal(tid: i32) -> Option<bool> {
    const COUNT: usize = 8;
    const SIZE: usize = 128 / 8;
    let mut mask = None;
    for flags in [0, 1] {
        for chunk in 0_u64.. {
            let arguments = PeekSignals { offset: chunk * COUNT as u64, flags, count: COUNT as i32 };
            let mut found = [0_u64; SIZE * COUNT];
            let count = ptrace(PEEKSIGINFO, tid, &raw const arguments as usize, found.as_mut_ptr() as usize);
            let count = usize::try_from(count).ok()?;
            for signal in found.chunks_exact(SIZE).take(count).map(|info| info[0] as i32) {
                let mask = *mask.get_or_insert_with(|| {
                    let mut mask = 0_u64;
                    ptrace(GETSIGMASK, tid, 8, &raw mut mask as usize);
                    mask
                });
                if mask >> (signal - 1) & 1 == 0 {
                    return Some(true);
                }
            }
            if count < COUNT {
                break;
            }
        }
    }
    Some(false)
}

/// The next event of this thread's tracees, as `waitpid` has it; `None` if there is none yet. Children and tracees of
/// other threads are left alone.
pub fn wait() -> Option<(i32, c_int)> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG) };
    (pid > 0).then_some((pid, status))
}

/// Waits for the next stop of one tracee. `None` if it has ended: its end is left for another thread to wait for.
pub fn await_stop(pid: i32) -> Option<c_int> {
    loop {
        // SAFETY: both structures outlive the calls; `info` is filled in if the call succeeds.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
            if libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags) == 0 {
                if matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
                    return None;
                }
                let mut status = 0;
                if libc::waitpid(pid, &raw mut status, libc::__WALL) == pid {
                    return Some(status);
                }
            }
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

/// Reads memory of a process; `false` if not all of it can be read.
pub fn read(pid: i32, address: u64, buffer: &mut [u8]) -> bool {
    let to = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let from = iovec { iov_base: address as *mut c_void, iov_len: buffer.len() };
    // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`.
    unsafe { libc::process_vm_readv(pid, &raw const to, 1, &raw const from, 1, 0) == buffer.len() as isize }
}

/// Writes memory of a process; `false` if not all of it can be written.
pub fn write(pid: i32, address: u64, bytes: &[u8]) -> bool {
    let from = iovec { iov_base: bytes.as_ptr() as *mut c_void, iov_len: bytes.len() };
    let to = iovec { iov_base: address as *mut c_void, iov_len: bytes.len() };
    // SAFETY: the kernel reads at most `bytes.len()` bytes of `bytes`.
    unsafe { libc::process_vm_writev(pid, &raw const from, 1, &raw const to, 1, 0) == bytes.len() as isize }
}

/// Two numbers of 8 bytes, such as a timespec.
pub fn read_pair(pid: i32, address: u64) -> Option<(i64, i64)> {
    let mut bytes = [0; 16];
    read(pid, address, &mut bytes).then(|| {
        let (first, second) = bytes.split_at(8);
        let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        (number(first), number(second))
    })
}

/// Writes two numbers of 8 bytes.
pub fn write_pair(pid: i32, address: u64, first: u64, second: u64) -> bool {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    write(pid, address, &bytes)
}

/// Real time since the machine was booted, in ns.
pub fn since_boot() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processor time of a process in ns, its ended threads included; `None` if it is gone.
pub fn cpu_time(pid: i32) -> Option<u64> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // the id of a process's clock: `MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)` of the kernel
    let clock = (!pid << 3) | 2;
    // SAFETY: `time` outlives the call.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A copy of another process's descriptor.
pub fn copy_descriptor(pid: i32, fd: i32) -> Option<OwnedFd> {
    // SAFETY: both calls take numbers only; what they return is a new descriptor that is owned here alone.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, pid, 0) as c_int;
        if process < 0 {
            return None;
        }
        let process = OwnedFd::from_raw_fd(process);
        let copy = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) as c_int;
        (copy >= 0).then(|| OwnedFd::from_raw_fd(copy))
    }
}

/// Switches Nagle's algorithm off for a TCP socket.
pub fn disable_nagle(socket: &OwnedFd) {
    let on: c_int = 1;
    // SAFETY: `on` is read only, and outlives the call.
    unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw const on).cast(), 4);
    }
}

/// Arms a timerfd. Both times are in seconds; what was not read is forgotten.
pub fn arm_timerfd(timer: &OwnedFd, value: i64, interval: i64) -> bool {
    let seconds = |tv_sec| timespec { tv_sec, tv_nsec: 0 };
    let times = libc::itimerspec { it_interval: seconds(interval), it_value: seconds(value) };
    // SAFETY: `times` is read only, and outlives the call.
    unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const times, std::ptr::null_mut()) == 0 }
}

/// Lets a timerfd expire now, and waits until it has: its interval is in seconds.
pub fn arm_timerfd_now(timer: &OwnedFd, interval: i64) {
    let times = libc::itimerspec {
        it_interval: timespec { tv_sec: interval, tv_nsec: 0 },
        it_value: timespec { tv_sec: 0, tv_nsec: 1 },
    };
    // SAFETY: both structures are large enough and outlive the calls.
    unsafe {
        libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const times, std::ptr::null_mut());
        let mut left = times;
        // before it has expired, less than a second is left
        while libc::timerfd_gettime(timer.as_raw_fd(), &raw mut left) == 0 && left.it_value.tv_sec == 0 {
            if left.it_value.tv_nsec == 0 {
                break;
            }
        }
    }
}

/// Makes a timerfd expire this many times, and wakes who waits for it (`TFD_IOC_SET_TICKS` of <linux/timerfd.h>).
pub fn set_timerfd_ticks(timer: &OwnedFd, ticks: u64) -> bool {
    const SET_TICKS: libc::c_ulong = 0x4008_5400;
    // SAFETY: `ticks` is read only, and outlives the call.
    unsafe { libc::ioctl(timer.as_raw_fd(), SET_TICKS, &raw const ticks) == 0 }
}

/// Sends a signal to a process.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: takes numbers only.
    unsafe {
        libc::kill(pid, signal);
    }
}

/// Sends the signal of a POSIX timer: to a thread, or to a process if `tid` is 0.
pub fn send_timer_signal(pid: i32, tid: i32, signal: i32, timer: i32, overrun: i32, value: u64) {
    /// `SI_TIMER` of <asm-generic/siginfo.h>.
    const SI_TIMER: i32 = -2;
    let mut info = [0_u8; 128];
    info[0..4].copy_from_slice(&signal.to_le_bytes());
    info[8..12].copy_from_slice(&SI_TIMER.to_le_bytes());
    info[16..20].copy_from_slice(&timer.to_le_bytes());
    info[20..24].copy_from_slice(&overrun.to_le_bytes());
    info[24..32].copy_from_slice(&value.to_le_bytes());
    // SAFETY: `info` has the size of a siginfo_t and is read only.
    unsafe {
        if tid == 0 {
            libc::syscall(libc::SYS_rt_sigqueueinfo, pid, signal, info.as_ptr());
        } else {
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signal, info.as_ptr());
        }
    }
}

/// Gives the processor to another thread.
pub fn yield_now() {
    std::thread::yield_now();
}

/// Lets timed waits of this thread end on time: the default adds 50 µs.
pub fn set_short_slack() {
    // SAFETY: takes numbers only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize);
    }
}

/// Opens a process's memory; it is valid until the process calls exec.
pub fn open_memory(pid: i32) -> Option<File> {
    File::options().read(true).write(true).open(format!("/proc/{pid}/mem")).ok()
}
