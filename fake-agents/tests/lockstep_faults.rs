//! An internal error ends as one, and never as a verdict; an echo is exact to the byte, every time.

mod lockstep;

use lockstep::{arguments, cell, children, drive, kernel};
use rehang_os::{
    kernel::{InternalError, Kernel},
    linux::signals,
    lockstep::{LockstepKernel, protocol},
    os::{BACKLOG, Errno, Read, Sig, Write},
};
use rehang_scenario::{
    Terminal::{Null, Tty},
    VTime,
};
use std::path::Path;
use std::time::Duration;

/// How often a test runs whose bug would show in every second run.
const ROUNDS: usize = 2_000;

#[test]
fn an_echo_is_there_when_the_write_returns() {
    let mut kernel = kernel();
    let (agent, streams) = kernel.start(&cell(Tty, r#"["read-stdin-to-end"]"#).launch()).unwrap();
    kernel.run(agent, VTime(0)).unwrap();
    let tty = streams.tty.unwrap();
    for round in 0..ROUNDS {
        let typed = format!("line {round}\r");
        assert_eq!(kernel.write(tty, typed.as_bytes()), Ok(Write::Took(typed.len())));
        let echo = format!("line {round}\r\n").into_bytes();
        assert_eq!(kernel.read(tty, 65_536), Ok(Read::Data(echo)), "round {round}");
        assert_eq!(kernel.read(tty, 65_536), Ok(Read::Later), "round {round}");
        // every third line waits for the next ones to be typed ahead of its reader
        if round % 3 > 0 {
            assert_eq!(kernel.ready(VTime(0)).map(|all| all.to_vec()), Ok(vec![agent]), "round {round}");
            kernel.run(agent, VTime(0)).unwrap();
            assert_eq!(kernel.ready(VTime(0)).map(|all| all.to_vec()), Ok(vec![]), "round {round}");
        }
    }
}

#[test]
fn several_lines_and_keys_at_once() {
    let mut kernel = kernel();
    let (agent, streams) = kernel.start(&cell(Tty, r#"[{"ignore":["INT"]},"read-stdin-to-end"]"#).launch()).unwrap();
    kernel.run(agent, VTime(0)).unwrap();
    let tty = streams.tty.unwrap();
    for round in 0..ROUNDS / 4 {
        assert_eq!(kernel.write(tty, b"a\rbc\rd\x7f\x03ef"), Ok(Write::Took(10)));
        let Ok(Read::Data(echo)) = kernel.read(tty, 65_536) else { panic!("no echo in round {round}") };
        // Ctrl-C flushes what was typed and what the terminal has not yet put out
        let text = String::from_utf8_lossy(&echo).into_owned();
        assert!(text.ends_with("^Cef"), "{text:?} in round {round}");
        assert_eq!(kernel.read(tty, 65_536), Ok(Read::Later), "round {round}");
        assert_eq!(kernel.ready(VTime(0)).map(|all| all.to_vec()), Ok(vec![]), "round {round}");
    }
}

#[test]
fn a_fake_that_lies_is_found_out() {
    let mut cell = cell(Null, r#"[{"print":"hello"},"hold"]"#);
    cell.env.push((protocol::LIES_ENV.into(), "1".into()));
    let mut kernel = kernel();
    let fault = drive(&mut kernel, &cell).unwrap_err();
    assert_eq!(
        fault,
        InternalError::Lie {
            role: "agent".into(),
            announced: "7 bytes written".into(),
            seen: "6 bytes came out".into()
        }
    );
    assert_eq!(kernel.clear().map(|left| left.len()), Ok(1));
}

#[test]
fn a_fake_that_announces_nothing_is_found_out_when_its_cell_is_over() {
    for terminal in [Null, Tty] {
        let mut cell = cell(terminal, r#"[{"print":"hello"},"hold"]"#);
        cell.env.push((protocol::LIES_ENV.into(), protocol::SAYS_NOTHING.into()));
        let mut kernel = kernel();
        let (agent, streams) = kernel.start(&cell.launch()).unwrap();
        kernel.run(agent, VTime(0)).unwrap();
        let output = streams.stdout.or(streams.tty).unwrap();
        assert_eq!(kernel.read(output, 65_536), Ok(Read::Later), "nothing was announced");
        let lie = InternalError::Lie {
            role: "agent".into(),
            announced: "nothing more written".into(),
            seen: "more bytes came out".into(),
        };
        assert_eq!(kernel.clear(), Err(lie), "{terminal:?}");
        assert_eq!(kernel.clear().map(|left| left.len()), Ok(0), "it is cleared away all the same");
    }
}

#[test]
fn a_fake_that_lies_on_a_terminal_is_found_out() {
    let mut cell = cell(Tty, r#"[{"print":"hello"},"hold"]"#);
    cell.env.push((protocol::LIES_ENV.into(), "1".into()));
    let mut kernel = kernel();
    let (announced, seen) = ("7 bytes printed on a terminal".into(), "6 bytes came out".into());
    assert_eq!(drive(&mut kernel, &cell), Err(InternalError::Lie { role: "agent".into(), announced, seen }));
    assert_eq!(kernel.clear().map(|left| left.len()), Ok(1));
}

#[test]
fn a_silent_participant_is_no_verdict() {
    let mut kernel = kernel().with_watchdog(Duration::from_millis(100));
    let cell = cell(Null, r#"["hold"]"#);
    let (agent, _) = kernel.start(&cell.launch()).unwrap();
    let pid = children().into_iter().find(|pid| arguments(*pid) == ["fake-tool"]).unwrap();
    signals::send(pid.cast_signed(), Sig::Stop).unwrap();
    let silent = InternalError::Silent { role: "agent".into(), real_ms: 100, doing: "running".into() };
    assert_eq!(kernel.run(agent, VTime(0)), Err(silent));
    assert_eq!(kernel.clear().map(|left| left.len()), Ok(1));
}

#[test]
fn a_fake_that_cannot_play_says_why() {
    let mut kernel = kernel();
    let mut launch = cell(Null, "[]").launch();
    launch.argv = vec!["fake-tool".into(), "--plays".into(), "[{\"raise\":\"BANG\"}]".into()];
    let (agent, _) = kernel.start(&launch).unwrap();
    let why = "agent: no signal is called `BANG`";
    assert_eq!(kernel.run(agent, VTime(0)), Err(InternalError::Fake(why.into())));
    assert!(kernel.clear().is_ok());
}

#[test]
fn a_binary_that_is_not_there() {
    let fault = LockstepKernel::new(Path::new("/no/such/binary")).err();
    assert!(matches!(&fault, Some(InternalError::Fake(text)) if text.contains("/no/such/binary")), "{fault:?}");
}

#[test]
fn a_server_of_somebody_else_on_a_freed_port_is_not_met() {
    let mut kernel = kernel();
    let (listener, port) = kernel.listen().unwrap();
    let connected = kernel.connect(port).unwrap();
    assert!(connected.is_ok());
    kernel.close(listener, false).unwrap();
    let somebody = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_eq!(kernel.connect(port).unwrap(), Err(Errno::Refused));
    somebody.set_nonblocking(true).unwrap();
    assert_eq!(somebody.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_queue_of_connections_is_full_when_the_kernel_says_so() {
    let kernels: [Box<dyn Kernel>; 2] =
        [Box::new(kernel()), Box::new(rehang_os::sim::SimKernel::new(rehang_fakes::program))];
    for mut kernel in kernels {
        let (listener, port) = kernel.listen().unwrap();
        // the kernel takes one more than it was told
        for nth in 0..=BACKLOG {
            assert!(kernel.has_room(port), "{nth}");
            assert!(kernel.connect(port).unwrap().is_ok(), "{nth}");
        }
        assert!(!kernel.has_room(port));
        kernel.accept(listener).unwrap().unwrap();
        assert!(kernel.has_room(port));
        kernel.connect(port).unwrap().unwrap();
        kernel.close(listener, false).unwrap();
        assert_eq!((kernel.has_room(port), kernel.connect(port).unwrap()), (true, Err(Errno::Refused)));
    }
}

#[test]
fn a_variable_of_the_loader_is_one_like_any_other() {
    let quiet = cell(Null, r#"[{"print":"hi"},{"run":[{"print":"ho"}]}]"#);
    let mut loud = cell(Null, r#"[{"print":"hi"},{"run":[{"print":"ho"}]}]"#);
    // the loader that sees it prints a page
    loud.env.push(("LD_SHOW_AUXV".into(), "1".into()));
    let loud = drive(&mut kernel(), &loud);
    let quiet = drive(&mut kernel(), &quiet);
    assert!(quiet.is_ok());
    assert_eq!(loud, quiet);
}
