//! Waits and timers at their edges: what a program sees of each, with the virtual time at which it sees it.

use crate::support;
use libc::{c_int, timespec, timeval};
use libtest_mimic::Trial;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

/// What [`program`] prints: virtual seconds, and what happened.
pub const EXPECTED: &str = "\
10.000000000 nanosleep -1 EINTR, 50 s left, 1 alarm
17.000000000 select 1, 13 s left, 1 in the set
37.000000000 select 0, 0 s left, 0 in the set
57.000000000 4 alarms, 5 s left
72.000000000 timerfd 1
102.000000000 timerfd 1
192.000000000 timerfd 3
232.000000000 epoll 1 for a timerfd of the time of day
482.000000000 epoll 0
502.000000000 20 s left of a timer
522.000000000 timer signal 12, code -2, value 42
599.000000000 sem_timedwait -1 ETIMEDOUT
632.000000000 pthread_mutex_timedlock ETIMEDOUT
644.000000000 sigtimedwait -1 EAGAIN
647.000000000 sigtimedwait 12
651.000000000 poll -1 EINTR
711.000000000 epoll 0 beside a child that ended
736.000000000 epoll 1 beside a child that ended
746.000000000 a sleeping child stopped
806.000000000 it ended with 0 after 70 s
906.000000000 a thread slept
906.000000000 the clocks agree
907.000000000 killed by 9
908.000000000 killed by 15
917.000000000 the child of vfork slept
1007.000000000 clock_nanosleep 0
1307.000000000 recv -1 EAGAIN
1307.000000000 SO_RCVTIMEO 300
1309.000000000 usleep after an expired alarm, 7 s left
1359.000000000 after exec
";

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("edge::waits_and_timers", || {
        let ran = support::run(support::program(&["edge"]));
        assert_eq!(ran.output, EXPECTED);
        assert_eq!(ran.nanos(), 1_359_000_000_000);
        assert!(ran.ending.repeatable);
        Ok(())
    })]
}

static HITS: AtomicI32 = AtomicI32::new(0);

extern "C" fn count(_: c_int) {
    HITS.fetch_add(1, Ordering::SeqCst);
}

/// Calls a function of libc, which is sound here: every pointer is to a local of the right type.
macro_rules! c {
    ($($call:tt)*) => {
        // SAFETY: every pointer is to a local of the right type that outlives the call.
        unsafe { $($call)* }
    };
}

fn errno() -> String {
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EINTR) => "EINTR".to_owned(),
        Some(libc::EAGAIN) => "EAGAIN".to_owned(),
        Some(libc::ETIMEDOUT) => "ETIMEDOUT".to_owned(),
        other => format!("{other:?}"),
    }
}

fn span(seconds: i64) -> timespec {
    timespec { tv_sec: seconds, tv_nsec: 0 }
}

fn handle(signal: c_int, handler: usize) {
    let mut action: libc::sigaction = c!(zeroed());
    action.sa_sigaction = handler;
    c!(libc::sigaction(signal, &raw const action, null_mut()));
}

/// A child that does something and exits with 0.
fn child(run: impl FnOnce()) -> c_int {
    match c!(libc::fork()) {
        0 => {
            run();
            c!(libc::_exit(0))
        }
        // -1 would mean everybody to kill
        pid => {
            assert!(pid > 0, "no child");
            pid
        }
    }
}

fn sleep(seconds: i64) {
    let wanted = span(seconds);
    c!(libc::nanosleep(&raw const wanted, null_mut()));
}

fn wait(pid: c_int, flags: c_int) -> c_int {
    let mut status = 0;
    c!(libc::waitpid(pid, &raw mut status, flags));
    status
}

fn date() -> timespec {
    let mut now = span(0);
    c!(libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now));
    now
}

pub fn program() {
    let begun = Instant::now();
    let say = |what: String| println!("{}.{:09} {what}", begun.elapsed().as_secs(), begun.elapsed().subsec_nanos());
    handle(libc::SIGALRM, count as extern "C" fn(c_int) as usize);
    handle(libc::SIGUSR1, count as extern "C" fn(c_int) as usize);
    sleeps_and_selects(&say);
    timers(&say);
    let epoll = timed_locks(&say);
    signals(&say, epoll);
    processes(&say);
    sockets(&say);
    let words = [c"sh".as_ptr(), c"-c".as_ptr(), c"sleep 50; echo 1359.000000000 after exec".as_ptr(), null()];
    c!(libc::execvp(words[0], words.as_ptr()));
}

fn sleeps_and_selects(say: &impl Fn(String)) {
    c!(libc::alarm(10));
    let (wanted, mut left) = (span(60), span(0));
    let result = c!(libc::nanosleep(&raw const wanted, &raw mut left));
    let hits = HITS.load(Ordering::SeqCst);
    say(format!("nanosleep {result} {}, {} s left, {hits} alarm", errno(), left.tv_sec));

    let mut pipe = [0; 2];
    c!(libc::pipe(pipe.as_mut_ptr()));
    child(|| {
        sleep(7);
        c!(libc::write(pipe[1], c"x".as_ptr().cast(), 1));
    });
    for reads in [true, false] {
        let mut set: libc::fd_set = c!(zeroed());
        let mut limit = timeval { tv_sec: 20, tv_usec: 0 };
        c!(libc::FD_SET(pipe[0], &raw mut set));
        let result = c!(libc::select(pipe[0] + 1, &raw mut set, null_mut(), null_mut(), &raw mut limit));
        let is_set = i32::from(c!(libc::FD_ISSET(pipe[0], &raw const set)));
        say(format!("select {result}, {} s left, {is_set} in the set", limit.tv_sec));
        if reads {
            let mut byte = 0_u8;
            c!(libc::read(pipe[0], (&raw mut byte).cast(), 1));
            wait(-1, 0);
        }
    }
}

fn timers(say: &impl Fn(String)) {
    let second = |tv_sec| timeval { tv_sec, tv_usec: 0 };
    let (every, mut old) = (libc::itimerval { it_interval: second(5), it_value: second(5) }, c!(zeroed()));
    HITS.store(0, Ordering::SeqCst);
    c!(libc::setitimer(libc::ITIMER_REAL, &raw const every, null_mut()));
    while HITS.load(Ordering::SeqCst) < 4 {
        c!(libc::pause());
    }
    let off = libc::itimerval { it_interval: second(0), it_value: second(0) };
    c!(libc::setitimer(libc::ITIMER_REAL, &raw const off, &raw mut old));
    say(format!("4 alarms, {} s left", old.it_value.tv_sec));

    let timer = c!(libc::timerfd_create(libc::CLOCK_MONOTONIC, 0));
    let times = libc::itimerspec { it_interval: span(30), it_value: span(15) };
    c!(libc::timerfd_settime(timer, 0, &raw const times, null_mut()));
    let mut ticks = 0_u64;
    for pause in [0, 0, 75] {
        // expiries that nobody reads add up
        if pause > 0 {
            sleep(pause);
        }
        c!(libc::read(timer, (&raw mut ticks).cast(), 8));
        if pause > 0 {
            sleep(15);
        }
        say(format!("timerfd {}", ticks + u64::from(pause > 0)));
    }
}

fn timed_locks(say: &impl Fn(String)) -> c_int {
    let timer = c!(libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_NONBLOCK));
    let mut at = date();
    at.tv_sec += 40;
    let times = libc::itimerspec { it_interval: span(0), it_value: at };
    c!(libc::timerfd_settime(timer, libc::TFD_TIMER_ABSTIME, &raw const times, null_mut()));
    let epoll = c!(libc::epoll_create1(0));
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    c!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, timer, &raw mut event));
    let ready = c!(libc::epoll_wait(epoll, &raw mut event, 1, -1));
    say(format!("epoll {ready} for a timerfd of the time of day"));
    let mut ticks = 0_u64;
    c!(libc::read(timer, (&raw mut ticks).cast(), 8));
    say(format!("epoll {}", c!(libc::epoll_wait(epoll, &raw mut event, 1, 250_000))));

    let mut wanted: libc::sigevent = c!(zeroed());
    wanted.sigev_notify = libc::SIGEV_SIGNAL;
    wanted.sigev_signo = libc::SIGUSR2;
    wanted.sigev_value = libc::sigval { sival_ptr: 42 as *mut _ };
    let (mut id, mut left) = (null_mut(), c!(zeroed()));
    block(libc::SIGUSR2);
    c!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut wanted, &raw mut id));
    let times = libc::itimerspec { it_interval: span(0), it_value: span(40) };
    c!(libc::timer_settime(id, 0, &raw const times, null_mut()));
    sleep(20);
    c!(libc::timer_gettime(id, &raw mut left));
    say(format!("{} s left of a timer", left.it_value.tv_sec));
    let mut info: libc::siginfo_t = c!(zeroed());
    let set = set_of(libc::SIGUSR2);
    let signal = c!(libc::sigwaitinfo(&raw const set, &raw mut info));
    say(format!("timer signal {signal}, code {}, value {}", info.si_code, c!(info.si_value()).sival_ptr as usize));

    let mut semaphore: libc::sem_t = c!(zeroed());
    c!(libc::sem_init(&raw mut semaphore, 0, 0));
    let mut at = date();
    at.tv_sec += 77;
    let result = c!(libc::sem_timedwait(&raw mut semaphore, &raw const at));
    say(format!("sem_timedwait {result} {}", errno()));
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    c!(libc::pthread_mutex_lock(&raw mut mutex));
    let mut at = date();
    at.tv_sec += 33;
    let is_over = c!(libc::pthread_mutex_timedlock(&raw mut mutex, &raw const at)) == libc::ETIMEDOUT;
    say(format!("pthread_mutex_timedlock {}", if is_over { "ETIMEDOUT" } else { "otherwise" }));
    epoll
}

fn set_of(signal: c_int) -> libc::sigset_t {
    let mut set: libc::sigset_t = c!(zeroed());
    c!(libc::sigemptyset(&raw mut set));
    c!(libc::sigaddset(&raw mut set, signal));
    set
}

fn block(signal: c_int) {
    let set = set_of(signal);
    c!(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, null_mut()));
}

fn signals(say: &impl Fn(String), epoll: c_int) {
    let (set, limit) = (set_of(libc::SIGUSR2), span(12));
    let result = c!(libc::sigtimedwait(&raw const set, null_mut(), &raw const limit));
    say(format!("sigtimedwait {result} {}", errno()));
    let here = c!(libc::getpid());
    child(|| {
        sleep(3);
        c!(libc::kill(here, libc::SIGUSR2));
    });
    say(format!("sigtimedwait {}", c!(libc::sigtimedwait(&raw const set, null_mut(), &raw const limit))));
    wait(-1, 0);

    child(|| {
        sleep(4);
        c!(libc::kill(here, libc::SIGUSR1));
    });
    let result = c!(libc::poll(null_mut(), 0, 50_000));
    say(format!("poll {result} {}", errno()));
    wait(-1, 0);

    // SIGCHLD is ignored by default, so it does not cut these waits
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    child(|| sleep(5));
    let result = c!(libc::epoll_wait(epoll, &raw mut event, 1, 60_000));
    say(format!("epoll {result} beside a child that ended"));
    wait(-1, 0);
    child(|| sleep(5));
    let counter = c!(libc::eventfd(0, 0));
    c!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, counter, &raw mut event));
    child(|| {
        sleep(25);
        let one = 1_u64;
        c!(libc::write(counter, (&raw const one).cast(), 8));
    });
    let result = c!(libc::epoll_wait(epoll, &raw mut event, 1, -1));
    say(format!("epoll {result} beside a child that ended"));
    wait(-1, 0);
    wait(-1, 0);
}

fn processes(say: &impl Fn(String)) {
    let begun = Instant::now();
    let sleeper = child(|| sleep(30));
    sleep(10);
    c!(libc::kill(sleeper, libc::SIGSTOP));
    let status = wait(sleeper, libc::WUNTRACED);
    say(format!("a sleeping child {}", if libc::WIFSTOPPED(status) { "stopped" } else { "went on" }));
    sleep(60);
    c!(libc::kill(sleeper, libc::SIGCONT));
    let status = libc::WEXITSTATUS(wait(sleeper, 0));
    say(format!("it ended with {status} after {} s", begun.elapsed().as_secs()));

    std::thread::spawn(|| sleep(100)).join().expect("a thread");
    say("a thread slept".to_owned());
    let (mut day, mut raw) = (timeval { tv_sec: 0, tv_usec: 0 }, span(0));
    c!(libc::gettimeofday(&raw mut day, null_mut()));
    c!(libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &raw mut raw));
    let seconds = [day.tv_sec, raw.tv_sec, date().tv_sec, c!(libc::time(null_mut()))];
    let agree = seconds.iter().all(|second| *second == seconds[0]);
    say(format!("the clocks {}", if agree { "agree" } else { "differ" }));

    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let sleeper = child(|| sleep(1_000));
        sleep(1);
        c!(libc::kill(sleeper, signal));
        say(format!("killed by {}", libc::WTERMSIG(wait(sleeper, 0))));
    }
    // the child sleeps before exec, as a shell that runs in a child of vfork may
    #[expect(deprecated, reason = "the wait of vfork's parent is what is looked at")]
    let pid = c!(libc::vfork());
    if pid == 0 {
        let wanted = timespec { tv_sec: 9, tv_nsec: 0 };
        c!(libc::nanosleep(&raw const wanted, null_mut()));
        c!(libc::_exit(0));
    }
    say("the child of vfork slept".to_owned());
    wait(pid, 0);
    let mut at = date();
    at.tv_sec += 90;
    let result = c!(libc::clock_nanosleep(libc::CLOCK_REALTIME, libc::TIMER_ABSTIME, &raw const at, null_mut()));
    say(format!("clock_nanosleep {result}"));
}

fn sockets(say: &impl Fn(String)) {
    let mut pair = [0; 2];
    c!(libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, pair.as_mut_ptr()));
    let (limit, mut read, mut length) = (timeval { tv_sec: 300, tv_usec: 0 }, timeval { tv_sec: 0, tv_usec: 0 }, 16);
    c!(libc::setsockopt(pair[0], libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const limit).cast(), 16));
    let mut byte = 0_u8;
    let result = c!(libc::recv(pair[0], (&raw mut byte).cast(), 1, 0));
    say(format!("recv {result} {}", errno()));
    c!(libc::getsockopt(pair[0], libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw mut read).cast(), &raw mut length));
    say(format!("SO_RCVTIMEO {}", read.tv_sec));

    // a handler that restarts nothing cuts the first sleep only
    c!(libc::alarm(2));
    let (wanted, mut left) = (span(9), span(0));
    c!(libc::nanosleep(&raw const wanted, &raw mut left));
    say(format!("usleep after an expired alarm, {} s left", left.tv_sec));
}
