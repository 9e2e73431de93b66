//! The numbers of the system calls that can wait, by architecture.
//!
//! Invariant: a name means the same call on every architecture; a number that is not listed waits for nothing that is
//! known here.

/// The name of a system call of this machine.
pub fn name(number: i64) -> &'static str {
    let table: &[(i64, &str)] = if cfg!(target_arch = "aarch64") { &AARCH64 } else { &X86_64 };
    table.iter().find(|(other, _)| *other == number).map_or("", |(_, name)| name)
}

/// From arch/x86/entry/syscalls/syscall_64.tbl.
#[rustfmt::skip]
const X86_64: [(i64, &str); 54] = [
    (0, "read"), (1, "write"), (2, "open"), (7, "poll"), (16, "ioctl"), (17, "pread64"), (18, "pwrite64"),
    (19, "readv"), (20, "writev"), (23, "select"), (24, "sched_yield"), (34, "pause"), (35, "nanosleep"),
    (40, "sendfile"), (42, "connect"), (43, "accept"), (44, "sendto"), (45, "recvfrom"), (46, "sendmsg"),
    (47, "recvmsg"), (61, "wait4"), (65, "semop"), (70, "msgrcv"), (72, "fcntl"), (73, "flock"), (74, "fsync"),
    (75, "fdatasync"), (127, "rt_sigpending"), (128, "rt_sigtimedwait"), (130, "rt_sigsuspend"), (202, "futex"),
    (208, "io_getevents"), (219, "restart_syscall"), (220, "semtimedop"), (230, "clock_nanosleep"),
    (232, "epoll_wait"), (243, "mq_timedreceive"), (247, "waitid"), (257, "openat"), (270, "pselect6"),
    (271, "ppoll"), (275, "splice"), (276, "tee"), (281, "epoll_pwait"), (288, "accept4"), (295, "preadv"),
    (296, "pwritev"), (299, "recvmmsg"), (307, "sendmmsg"), (326, "copy_file_range"), (426, "io_uring_enter"),
    (437, "openat2"), (441, "epoll_pwait2"), (449, "futex_waitv"),
];

/// From include/uapi/asm-generic/unistd.h.
#[rustfmt::skip]
const AARCH64: [(i64, &str); 48] = [
    (4, "io_getevents"), (22, "epoll_pwait"), (25, "fcntl"), (29, "ioctl"), (32, "flock"), (56, "openat"),
    (63, "read"), (64, "write"), (65, "readv"), (66, "writev"), (67, "pread64"), (68, "pwrite64"), (69, "preadv"),
    (70, "pwritev"), (71, "sendfile"), (72, "pselect6"), (73, "ppoll"), (76, "splice"), (77, "tee"), (82, "fsync"),
    (83, "fdatasync"), (95, "waitid"), (98, "futex"), (101, "nanosleep"), (115, "clock_nanosleep"),
    (124, "sched_yield"), (128, "restart_syscall"), (133, "rt_sigsuspend"), (136, "rt_sigpending"),
    (137, "rt_sigtimedwait"), (183, "mq_timedreceive"), (188, "msgrcv"), (192, "semtimedop"), (193, "semop"),
    (202, "accept"), (203, "connect"), (206, "sendto"), (207, "recvfrom"), (211, "sendmsg"), (212, "recvmsg"),
    (242, "accept4"), (243, "recvmmsg"), (260, "wait4"), (269, "sendmmsg"), (426, "io_uring_enter"),
    (437, "openat2"), (441, "epoll_pwait2"), (449, "futex_waitv"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_name_of_its_number_on_this_machine() {
        let known = [(libc::SYS_read, "read"), (libc::SYS_futex, "futex"), (libc::SYS_openat2, "openat2")];
        assert!(known.iter().all(|(number, wanted)| name(*number) == *wanted));
        assert_eq!((name(-1), name(libc::SYS_getpid)), ("", ""));
    }
}
