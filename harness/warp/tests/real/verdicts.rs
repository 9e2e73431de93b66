//! How runs end in which nothing is left that time could do.

use crate::support::{command, has, program, run, run_with, seconds};
use libtest_mimic::Trial;
use rehang_warp::{Source, Verdict, Warp};
use std::io::Write;
use std::process::Stdio;

pub fn trials() -> Vec<Trial> {
    let deadlock = |name: &'static str| {
        Trial::test(format!("verdicts::{name}_is_a_deadlock"), move || {
            let ran = run(program(&["verdict", name]));
            match &ran.ending.verdict {
                Verdict::Deadlock { waits } => assert!(!waits.is_empty()),
                other => panic!("{other:?}"),
            }
            assert_eq!(ran.nanos(), 0);
            Ok(())
        })
    };
    let not_proved = |name: &'static str, is_right: fn(&Verdict) -> bool| {
        Trial::test(format!("verdicts::{name}_is_no_deadlock"), move || {
            let ran = run(program(&["verdict", name]));
            assert!(is_right(&ran.ending.verdict), "{:?}", ran.ending.verdict);
            Ok(())
        })
    };
    let mut trials: Vec<Trial> =
        ["pipe", "locks", "child", "socketpair", "tcp", "terminal", "stopped", "eventfd"].map(deadlock).into();
    trials.push(not_proved("listener", |verdict| matches!(verdict, Verdict::WaitsFor { .. })));
    trials.push(Trial::test("verdicts::a_listener_to_which_nobody_connects_is_a_deadlock", || {
        let ran = run_with(program(&["verdict", "listener"]), Warp::nobody_connects);
        assert!(matches!(ran.ending.verdict, Verdict::Deadlock { .. }), "{:?}", ran.ending.verdict);
        Ok(())
    }));
    trials.push(not_proved("unsent", |verdict| matches!(verdict, Verdict::Undecided { .. })));
    trials.push(not_proved("terminal-limit", |verdict| matches!(verdict, Verdict::Undecided { .. })));
    trials.push(not_proved("semaphore", |verdict| matches!(verdict, Verdict::Undecided { .. })));
    trials.push(Trial::test("verdicts::a_fifo_whose_writer_waits_is_a_deadlock", || {
        let ran = run(command(&["bash", "-c", "d=$(mktemp -d); mkfifo $d/f; exec 9<>$d/f; rm -r $d; cat <&9 & wait"]));
        assert!(matches!(ran.ending.verdict, Verdict::Deadlock { .. }), "{:?}", ran.ending.verdict);
        Ok(())
    }));
    trials.push(Trial::test("verdicts::a_pipe_from_outside_is_waited_for", || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut cat = command(&["sh", "-c", "sleep 100; cat"]);
        cat.stdin(reader).stdout(Stdio::null());
        let ending = Warp::new(cat).outside(std::time::Duration::ZERO).run().expect("it runs");
        drop(writer);
        assert_eq!(ending.elapsed, seconds(100));
        match ending.verdict {
            Verdict::WaitsFor { waits } => {
                let is_outside = |object: &rehang_warp::Object| matches!(object.source, Source::Outside(_));
                assert!(waits.iter().flat_map(|wait| &wait.objects).any(is_outside), "{waits:?}");
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }));
    trials.push(Trial::test("verdicts::input_from_outside_is_read_before_time_jumps", || {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let (marker, mark) = std::io::pipe().expect("a pipe");
        // writes once the program is about to read
        let feeder = std::thread::spawn(move || {
            std::io::Read::read_exact(&mut &marker, &mut [0]).expect("the program runs");
            writer.write_all(b"word\n").expect("the program reads");
        });
        let mut output = tempfile::NamedTempFile::new().expect("a file");
        let mut shell = command(&["bash", "-c", "echo >&2; read -t 3600 word; echo $word"]);
        shell.stdin(reader).stderr(mark).stdout(output.reopen().expect("a file"));
        // as long as it takes
        let ending = Warp::new(shell).outside(seconds(600)).run().expect("it runs");
        feeder.join().expect("it wrote");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut output, &mut text).expect("text");
        assert_eq!((text.as_str(), ending.elapsed.as_nanos()), ("word\n", 0));
        Ok(())
    }));
    trials.push(Trial::test("verdicts::a_ticker_lives_to_the_horizon", || {
        let ran = run_with(command(&["sh", "-c", "while :; do sleep 60; done"]), |warp| warp.until(seconds(7200)));
        assert!(matches!(ran.ending.verdict, Verdict::Horizon { .. }), "{:?}", ran.ending.verdict);
        assert_eq!(ran.nanos(), 7_200_000_000_000);
        let timer = &ran.ending.timers[0];
        assert_eq!((timer.call.as_str(), timer.count), ("clock_nanosleep", 120));
        assert_eq!((timer.shortest, timer.longest), (seconds(60), seconds(60)));
        Ok(())
    }));
    trials.push(Trial::test("verdicts::a_lock_that_is_held_outside_is_waited_for", || {
        if !has("flock") {
            return Ok(());
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().lock().expect("a lock");
        let ran = run(command(&["flock", file.path().to_str().expect("a path"), "true"]));
        assert!(matches!(ran.ending.verdict, Verdict::WaitsFor { .. }), "{:?}", ran.ending.verdict);
        Ok(())
    }));
    trials.push(Trial::test("verdicts::what_outlives_the_command_is_counted_and_killed", || {
        let ran = run(command(&["sh", "-c", "sleep 1000 & echo $!"]));
        assert_eq!((ran.nanos(), ran.ending.left), (0, 1));
        let pid = ran.output.trim();
        // it may be a zombie until the process that inherited it asks for its end
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        Ok(())
    }));
    trials.push(Trial::test("verdicts::a_signal_ends_the_command", || {
        let ran = run(command(&["sh", "-c", "sleep 9; kill -9 $$"]));
        assert_eq!(ran.ending.verdict, Verdict::Signalled { signal: 9 });
        assert_eq!(ran.nanos(), 9_000_000_000);
        Ok(())
    }));
    trials
}

/// Programs that wait for ever.
pub fn program_of(name: &str) {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    let connection = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let one = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        (one, listener.accept().expect("a connection").0)
    };
    match name {
        "pipe" => {
            let (mut reader, _writer) = std::io::pipe().expect("a pipe");
            let _ = reader.read(&mut [0]);
        }
        "locks" => {
            let locks = [(); 2].map(|()| std::sync::Mutex::new(()));
            let both = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                for order in [[0, 1], [1, 0]] {
                    let (locks, both) = (&locks, &both);
                    scope.spawn(move || {
                        let _first = locks[order[0]].lock();
                        both.wait();
                        let _second = locks[order[1]].lock();
                    });
                }
            });
        }
        "child" => {
            let (reader, _writer) = std::io::pipe().expect("a pipe");
            let _ = std::process::Command::new("cat").stdin(reader).status();
        }
        "socketpair" => {
            let (mut one, _other) = UnixStream::pair().expect("a pair");
            let _ = one.read(&mut [0]);
        }
        "tcp" => {
            let (mut one, _other) = connection();
            let _ = one.read(&mut [0]);
        }
        "unsent" => {
            // the rest waits for the kernel's probes of the closed window
            let (one, _other) = connection();
            one.set_nonblocking(true).expect("a socket");
            while Write::write(&mut &one, &[0; 1 << 16]).is_ok() {}
            one.set_nonblocking(false).expect("a socket");
            let _ = Write::write(&mut &one, &[0]);
        }
        "listener" => {
            let _ = TcpListener::bind("127.0.0.1:0").expect("a listener").accept();
        }
        "terminal" | "terminal-limit" => {
            let (_master, mut slave) = terminal(name == "terminal-limit");
            let _ = slave.read(&mut [0]);
        }
        "stopped" => {
            // SAFETY: takes a number only.
            unsafe { libc::raise(libc::SIGSTOP) };
        }
        "eventfd" => {
            let mut ticks = 0_u64;
            // SAFETY: writes eight bytes.
            unsafe { libc::read(libc::eventfd(0, 0), (&raw mut ticks).cast(), 8) };
        }
        "semaphore" => {
            // SAFETY: the operation is read; the set is removed when its process ends, see below.
            unsafe {
                let set = libc::semget(libc::IPC_PRIVATE, 1, 0o600);
                if libc::fork() == 0 {
                    let mut down = libc::sembuf { sem_num: 0, sem_op: -1, sem_flg: 0 };
                    libc::semop(set, &raw mut down, 1);
                    libc::_exit(0);
                }
                // the child waits; it is seen when this process does, and the set goes with the next line of the test
                libc::wait(std::ptr::null_mut());
            }
        }
        other => panic!("no program {other}"),
    }
}

/// A terminal and its master, with a time limit of the terminal's own or without.
fn terminal(has_limit: bool) -> (std::fs::File, std::fs::File) {
    use std::os::fd::{FromRawFd, OwnedFd};
    let (mut master, mut slave) = (0, 0);
    // SAFETY: writes two descriptors, which are owned here alone; the settings are initialized by `tcgetattr`.
    unsafe {
        let null = std::ptr::null_mut;
        assert_eq!(libc::openpty(&raw mut master, &raw mut slave, null(), std::ptr::null(), std::ptr::null()), 0);
        if has_limit {
            let mut settings: libc::termios = std::mem::zeroed();
            libc::tcgetattr(slave, &raw mut settings);
            settings.c_lflag &= !libc::ICANON;
            (settings.c_cc[libc::VMIN], settings.c_cc[libc::VTIME]) = (0, 255);
            libc::tcsetattr(slave, libc::TCSANOW, &raw const settings);
        }
        (OwnedFd::from_raw_fd(master).into(), OwnedFd::from_raw_fd(slave).into())
    }
}
