//! What a process's threads wait for, one entry a descriptor, child, lock or clock.
//!
//! Invariant: if the system call may not be read, the wait is taken from the kernel's function and marked as inferred.

use crate::data::{Does, Mode, Object, Pid, Process, State, Thread, TimeLimit, Watch};

/// A wait longer than this has no end: `sleep infinity` gives 68 years and more.
pub const NO_END_MS: u64 = 365 * 24 * 3_600_000;

/// One wait of one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub tid: Pid,
    pub on: On,
    pub limit: TimeLimit,
    /// The name of the call.
    pub call: String,
    /// One of several that an event loop watches.
    pub polled: bool,
    /// Read from the kernel's function alone.
    pub inferred: bool,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq)]
pub enum On {
    Input(i32),
    Output(i32),
    Child(Pid),
    Futex,
    Clock,
    Lock(i32),
    Open {
        path: Option<String>,
        fifo: bool,
    },
    Connect(i32),
    Signal,
    Ioctl {
        fd: i32,
        request: u64,
    },
    /// What the kernel does not tell: io_uring, an unknown call.
    Hidden,
}

/// The waits of a thread of a process.
pub fn of(process: &Process, thread: &Thread) -> Vec<Wait> {
    if thread.state == State::Running {
        return Vec::new();
    }
    let Some(call) = &thread.call else {
        return if thread.call_read { Vec::new() } else { inferred(process, thread) };
    };
    let wait =
        |on, polled| Wait { tid: thread.tid, on, limit: call.limit, call: call.name.clone(), polled, inferred: false };
    let one = |on| vec![wait(on, false)];
    let several = |on: &[Watch]| -> Vec<Wait> {
        // a poll of one descriptor without a time limit is the same as a blocking read
        let polled = on.len() > 1 || call.limit != TimeLimit::Never;
        let mut waits: Vec<Wait> = spread(on).map(|on| wait(on, polled)).collect();
        waits.push(wait(On::Clock, true));
        waits
    };
    match &call.does {
        Does::Read { fd } => one(On::Input(*fd)),
        Does::Write { fd } => one(On::Output(*fd)),
        Does::Poll { on } if on.is_empty() => one(On::Clock),
        Does::Poll { on } => several(on),
        Does::Epoll { fd } => {
            let mut waits: Vec<Wait> = spread(&watched(process, *fd, 3)).map(|on| wait(on, true)).collect();
            waits.push(wait(On::Clock, true));
            waits
        }
        Does::Child { pid } => one(On::Child(*pid)),
        Does::Futex => one(On::Futex),
        Does::Sleep => one(On::Clock),
        Does::Lock { fd } => one(On::Lock(*fd)),
        Does::Open { path, fifo } => one(On::Open { path: path.clone(), fifo: *fifo }),
        Does::Connect { fd } => one(On::Connect(*fd)),
        Does::Signal => one(On::Signal),
        Does::Ioctl { fd, request } => one(On::Ioctl { fd: *fd, request: *request }),
        Does::Uring { .. } | Does::Other => one(On::Hidden),
    }
}

fn spread(on: &[Watch]) -> impl Iterator<Item = On> {
    on.iter().flat_map(|watch| {
        let input = watch.input.then_some(On::Input(watch.fd));
        input.into_iter().chain(watch.output.then_some(On::Output(watch.fd)))
    })
}

/// What an epoll instance watches, including what epoll instances among that watch, down to `deep` levels.
fn watched(process: &Process, fd: i32, deep: u8) -> Vec<Watch> {
    let Some(Object::Epoll { on }) = process.fd(fd).map(|fd| &fd.what) else { return Vec::new() };
    let mut all = Vec::new();
    for watch in on {
        match process.fd(watch.fd).map(|fd| &fd.what) {
            Some(Object::Epoll { .. }) if deep > 0 => all.extend(watched(process, watch.fd, deep - 1)),
            _ => all.push(*watch),
        }
    }
    all
}

/// Names of kernel functions of Linux 5.10 to 6.18.
fn inferred(process: &Process, thread: &Thread) -> Vec<Wait> {
    let wait = |on, polled| Wait {
        tid: thread.tid,
        on,
        limit: TimeLimit::Unknown,
        call: thread.wchan.clone(),
        polled,
        inferred: true,
    };
    let pipe = |reads: bool| {
        let fits = |mode: Mode| if reads { mode != Mode::Write } else { mode != Mode::Read };
        let is_pipe = |what: &Object| matches!(what, Object::Pipe { .. } | Object::Fifo { .. });
        process.fds.iter().find(|fd| is_pipe(&fd.what) && fits(fd.mode)).map(|fd| fd.fd)
    };
    match thread.wchan.as_str() {
        "pipe_read" | "anon_pipe_read" | "pipe_wait" | "fifo_pipe_read" => {
            pipe(true).map(|fd| wait(On::Input(fd), false)).into_iter().collect()
        }
        "pipe_write" | "anon_pipe_write" | "fifo_pipe_write" => {
            pipe(false).map(|fd| wait(On::Output(fd), false)).into_iter().collect()
        }
        "do_wait" | "kernel_wait4" | "do_wait_thread" => vec![wait(On::Child(-1), false)],
        "hrtimer_nanosleep" | "do_nanosleep" | "common_nsleep" => vec![wait(On::Clock, false)],
        "locks_lock_inode_wait" | "flock_lock_inode_wait" | "posix_lock_inode_wait" | "fcntl_setlk" => {
            let file = process.fds.iter().find(|fd| matches!(fd.what, Object::File { .. }));
            file.map(|fd| wait(On::Lock(fd.fd), false)).into_iter().collect()
        }
        "wait_for_partner" => vec![wait(On::Open { path: None, fifo: true }, false)],
        "wait_woken" | "n_tty_read" | "unix_stream_read_generic" | "unix_stream_data_wait" => {
            vec![wait(On::Input(0), false)]
        }
        "do_epoll_wait" | "ep_poll" => {
            let epolls = process.fds.iter().filter(|fd| matches!(fd.what, Object::Epoll { .. }));
            let watches: Vec<Watch> = epolls.flat_map(|fd| watched(process, fd.fd, 3)).collect();
            spread(&watches).chain([On::Clock]).map(|on| wait(on, true)).collect()
        }
        name if name.starts_with("futex") => vec![wait(On::Futex, false)],
        _ => vec![wait(On::Hidden, false)],
    }
}
