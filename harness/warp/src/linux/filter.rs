//! The seccomp program: which system calls stop at the tracer.
//!
//! It decides by arguments, so that a wait without a time limit, and a poll that does not wait, cost nothing. Whatever is
//! not named runs untouched.

use super::x86_64::regs::{AUDIT_ARCH, X32_BIT};
use libc::*;
use rehang_words::tracer::VIEW;

/// When a system call stops.
#[derive(Clone, Copy)]
enum When {
    /// Always.
    Always,
    /// The pointer in this argument is not null.
    Pointer(u32),
    /// The 32-bit number in this argument is greater than zero.
    Positive(u32),
    /// The clock in the first argument does not count processor time.
    WallClock,
    /// A futex command that waits, with a time limit.
    Futex,
    /// A socket's time limits.
    SocketLimit,
    /// The first argument is ITIMER_REAL.
    RealTimer,
    /// A request of `ioctl` that is made for every new pseudoterminal.
    Pty,
    /// A socket of the internet.
    Internet,
    /// The process is to be hidden from its tracer, or asks for the tracer's view of the tree.
    Prctl,
    /// It never runs: the program reads this error.
    Refused(i32),
}
use When::*;

/// `TIOCGPTN` and `TIOCSPTLCK` of <asm-generic/ioctls.h>.
const PTY_REQUESTS: [u32; 2] = [0x8004_5430, 0x4004_5431];
/// SO_RCVTIMEO and SO_SNDTIMEO, with 32-bit and with 64-bit times.
pub const RECEIVE_LIMITS: [u64; 2] = [20, 66];
/// See [`RECEIVE_LIMITS`].
pub const SEND_LIMITS: [u64; 2] = [21, 67];
/// `futex_wait` of <asm/unistd_64.h>; libc does not name it.
pub const SYS_FUTEX_WAIT: c_long = 455;
/// `io_pgetevents` of <asm/unistd_64.h>; libc does not name it here.
pub const SYS_IO_PGETEVENTS: c_long = 333;

const TABLE: &[(c_long, When)] = &[
    (SYS_futex, Futex),
    (SYS_epoll_wait, Positive(3)),
    (SYS_epoll_pwait, Positive(3)),
    (SYS_poll, Positive(2)),
    (SYS_ppoll, Pointer(2)),
    (SYS_select, Pointer(4)),
    (SYS_pselect6, Pointer(4)),
    (SYS_epoll_pwait2, Pointer(3)),
    (SYS_nanosleep, Always),
    (SYS_clock_nanosleep, WallClock),
    (SYS_clock_gettime, WallClock),
    (SYS_gettimeofday, Always),
    (SYS_time, Always),
    (SYS_socket, Internet),
    (SYS_setsockopt, SocketLimit),
    (SYS_getsockopt, SocketLimit),
    (SYS_ioctl, Pty),
    (SYS_setitimer, RealTimer),
    (SYS_getitimer, RealTimer),
    (SYS_alarm, Always),
    (SYS_timer_create, WallClock),
    (SYS_timer_settime, Always),
    (SYS_timer_gettime, Always),
    (SYS_timer_getoverrun, Always),
    (SYS_timer_delete, Always),
    (SYS_timerfd_settime, Always),
    (SYS_timerfd_gettime, Always),
    (SYS_rt_sigtimedwait, Pointer(2)),
    (SYS_semtimedop, Pointer(3)),
    (SYS_mq_timedsend, Pointer(4)),
    (SYS_mq_timedreceive, Pointer(4)),
    (SYS_io_getevents, Pointer(4)),
    (SYS_IO_PGETEVENTS, Pointer(4)),
    (SYS_futex_waitv, Pointer(3)),
    (SYS_FUTEX_WAIT, Pointer(4)),
    (SYS_sysinfo, Always),
    (SYS_times, Always),
    (SYS_ptrace, Always),
    (SYS_prctl, Prctl),
    // waits for io_uring cannot be cut; programs go on without it
    (SYS_io_uring_setup, Refused(ENOSYS)),
    (SYS_io_uring_enter, Refused(ENOSYS)),
    (SYS_io_uring_register, Refused(ENOSYS)),
    // the machine's clock is not the tree's
    (SYS_clock_settime, Refused(EPERM)),
    (SYS_settimeofday, Refused(EPERM)),
];

/// What stops in addition if random numbers come from a seed.
const SEEDED: &[(c_long, When)] = &[(SYS_getrandom, Always), (SYS_open, Always), (SYS_openat, Always)];

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Skips `yes` or `no` statements.
fn jump(code: u32, k: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: yes, jf: no, k }
}

const LOAD: u32 = BPF_LD | BPF_W | BPF_ABS;
const EQUAL: u32 = BPF_JMP | BPF_JEQ | BPF_K;
const ANY_BIT: u32 = BPF_JMP | BPF_JSET | BPF_K;
const AND: u32 = BPF_ALU | BPF_AND | BPF_K;
const RETURN: u32 = BPF_RET | BPF_K;
const SIGN: u32 = 0x8000_0000;

/// Loads the low or the high half of an argument of `struct seccomp_data`.
fn argument(index: u32, high: bool) -> sock_filter {
    statement(LOAD, 16 + 8 * index + 4 * u32::from(high))
}

/// The statements for one system call. Every path through them returns.
fn block(when: When) -> Vec<sock_filter> {
    let allow = statement(RETURN, SECCOMP_RET_ALLOW);
    let trace = statement(RETURN, SECCOMP_RET_TRACE);
    match when {
        Always => vec![trace],
        Refused(error) => vec![statement(RETURN, SECCOMP_RET_ERRNO | error as u32)],
        Pointer(index) => vec![
            argument(index, false),
            jump(EQUAL, 0, 0, 2),
            argument(index, true),
            jump(EQUAL, 0, 1, 0),
            trace,
            allow,
        ],
        Positive(index) => {
            vec![argument(index, false), jump(EQUAL, 0, 2, 0), jump(ANY_BIT, SIGN, 1, 0), trace, allow]
        }
        // clocks of other processes have negative ids
        WallClock => vec![
            argument(0, false),
            jump(EQUAL, CLOCK_PROCESS_CPUTIME_ID as u32, 3, 0),
            jump(EQUAL, CLOCK_THREAD_CPUTIME_ID as u32, 2, 0),
            jump(ANY_BIT, SIGN, 1, 0),
            trace,
            allow,
        ],
        Futex => vec![
            argument(1, false),
            statement(AND, 0x7f),
            jump(EQUAL, FUTEX_WAIT as u32, 4, 0),
            jump(EQUAL, FUTEX_WAIT_BITSET as u32, 3, 0),
            jump(EQUAL, FUTEX_LOCK_PI as u32, 2, 0),
            jump(EQUAL, FUTEX_WAIT_REQUEUE_PI as u32, 1, 0),
            jump(EQUAL, FUTEX_LOCK_PI2 as u32, 0, 5),
            argument(3, false),
            jump(EQUAL, 0, 0, 2),
            argument(3, true),
            jump(EQUAL, 0, 1, 0),
            trace,
            allow,
        ],
        SocketLimit => vec![
            argument(1, false),
            jump(EQUAL, SOL_SOCKET as u32, 0, 5),
            argument(2, false),
            jump(EQUAL, RECEIVE_LIMITS[0] as u32, 4, 0),
            jump(EQUAL, RECEIVE_LIMITS[1] as u32, 3, 0),
            jump(EQUAL, SEND_LIMITS[0] as u32, 2, 0),
            jump(EQUAL, SEND_LIMITS[1] as u32, 1, 0),
            allow,
            trace,
        ],
        RealTimer => vec![argument(0, false), jump(EQUAL, ITIMER_REAL as u32, 0, 1), trace, allow],
        Internet => vec![
            argument(0, false),
            jump(EQUAL, AF_INET as u32, 1, 0),
            jump(EQUAL, AF_INET6 as u32, 0, 1),
            trace,
            allow,
        ],
        Pty => vec![
            argument(1, false),
            jump(EQUAL, PTY_REQUESTS[0], 1, 0),
            jump(EQUAL, PTY_REQUESTS[1], 0, 1),
            trace,
            allow,
        ],
        Prctl => vec![
            argument(0, false),
            jump(EQUAL, VIEW, 3, 0),
            jump(EQUAL, PR_SET_DUMPABLE as u32, 0, 3),
            argument(1, false),
            jump(EQUAL, 0, 0, 1),
            trace,
            allow,
        ],
    }
}

/// The program.
pub fn build(seeded: bool) -> Vec<sock_filter> {
    let allow = statement(RETURN, SECCOMP_RET_ALLOW);
    let mut program = vec![
        // another architecture: a 32-bit program
        statement(LOAD, 4),
        jump(EQUAL, AUDIT_ARCH, 1, 0),
        allow,
        statement(LOAD, 0),
        jump(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
        statement(RETURN, SECCOMP_RET_ERRNO | ENOSYS as u32),
    ];
    let seeded = if seeded { SEEDED } else { &[] };
    for &(number, when) in TABLE.iter().chain(seeded) {
        let block = block(when);
        program.push(jump(EQUAL, number as u32, 0, block.len() as u8));
        program.extend(block);
    }
    program.push(allow);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel would.
    fn decide(number: c_long, arguments: [u64; 6]) -> u32 {
        let mut data = [0_u8; 64];
        data[0..4].copy_from_slice(&(number as u32).to_le_bytes());
        data[4..8].copy_from_slice(&AUDIT_ARCH.to_le_bytes());
        for (i, argument) in arguments.iter().enumerate() {
            data[16 + 8 * i..24 + 8 * i].copy_from_slice(&argument.to_le_bytes());
        }
        let (program, mut at, mut a) = (build(false), 0, 0_u32);
        loop {
            let step = program[at];
            at += 1;
            let taken = match u32::from(step.code) {
                LOAD => {
                    a = u32::from_le_bytes(data[step.k as usize..][..4].try_into().expect("four bytes"));
                    continue;
                }
                AND => {
                    a &= step.k;
                    continue;
                }
                RETURN => return step.k,
                EQUAL => a == step.k,
                ANY_BIT => a & step.k != 0,
                _ => a >= step.k,
            };
            at += usize::from(if taken { step.jt } else { step.jf });
        }
    }

    #[test]
    fn only_waits_with_a_time_limit_stop() {
        let (trace, allow) = (SECCOMP_RET_TRACE, SECCOMP_RET_ALLOW);
        let minus_one = u64::from(u32::MAX);
        let cases = [
            (SYS_read, [0; 6], allow),
            (SYS_poll, [1, 1, minus_one, 0, 0, 0], allow),
            (SYS_poll, [1, 1, 0, 0, 0, 0], allow),
            (SYS_poll, [1, 1, 250, 0, 0, 0], trace),
            (SYS_ppoll, [1, 1, 0, 0, 0, 0], allow),
            (SYS_ppoll, [1, 1, 1 << 40, 0, 0, 0], trace),
            (SYS_futex, [1, 128, 0, 0, 0, 0], allow),
            (SYS_futex, [1, 128, 0, 8, 0, 0], trace),
            (SYS_futex, [1, 128 | 256 | 9, 0, 8, 0, 0], trace),
            (SYS_futex, [1, 128 | 1, 0, 8, 0, 0], allow),
            (SYS_futex, [1, 13, 0, 1 << 33, 0, 0], trace),
            (SYS_clock_gettime, [2, 0, 0, 0, 0, 0], allow),
            (SYS_clock_gettime, [u64::from(-42_i32 as u32), 0, 0, 0, 0, 0], allow),
            (SYS_clock_gettime, [1, 0, 0, 0, 0, 0], trace),
            (SYS_setsockopt, [3, 1, 20, 0, 0, 0], trace),
            (SYS_setsockopt, [3, 1, 67, 0, 0, 0], trace),
            (SYS_setsockopt, [3, 1, 2, 0, 0, 0], allow),
            (SYS_setsockopt, [3, 6, 20, 0, 0, 0], allow),
            (SYS_socket, [2, 1, 0, 0, 0, 0], trace),
            (SYS_socket, [10, 1, 0, 0, 0, 0], trace),
            (SYS_socket, [1, 1, 0, 0, 0, 0], allow),
            (SYS_ioctl, [3, 0x8004_5430, 0, 0, 0, 0], trace),
            (SYS_ioctl, [3, 0x4004_5431, 0, 0, 0, 0], trace),
            (SYS_ioctl, [3, 0x5401, 0, 0, 0, 0], allow),
            (SYS_setitimer, [0; 6], trace),
            (SYS_setitimer, [1, 0, 0, 0, 0, 0], allow),
            (SYS_prctl, [4, 0, 0, 0, 0, 0], trace),
            (SYS_prctl, [4, 1, 0, 0, 0, 0], allow),
            (SYS_prctl, [15, 0, 0, 0, 0, 0], allow),
            (SYS_prctl, [u64::from(VIEW), 1, 1, 0, 0, 0], trace),
            (SYS_io_uring_setup, [0; 6], SECCOMP_RET_ERRNO | ENOSYS as u32),
            (SYS_clock_settime, [0; 6], SECCOMP_RET_ERRNO | EPERM as u32),
            (SYS_getrandom, [0; 6], allow),
            (c_long::from(X32_BIT) + 1, [0; 6], SECCOMP_RET_ERRNO | ENOSYS as u32),
        ];
        for (number, arguments, expected) in cases {
            assert_eq!(decide(number, arguments), expected, "{number} {arguments:?}");
        }
    }
}
