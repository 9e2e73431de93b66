//! A person at the terminal of a fake that runs alone, on the wall clock: answers, edits a line, dismisses,
//! interrupts, leaves, hangs up, resizes the window.
//!
//! Invariant: only the order of what is seen and done is asserted. A time limit aborts; nothing is measured. The
//! terminal is opened here: rexpect's own has no window size, and holds its master until its process is gone.

use rehang_scenario::{
    Agent, Claude, ClaudeMode, Client, Opencode, OpencodeMode,
    plan::{PLAN_ENV, Plan},
    turns::{Bash, BashTool, Choice, Question, Step, Turn},
};
use rexpect::reader::Options;
use rexpect::session::StreamSession;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// When a test is given up, in milliseconds: a passing test takes much less.
const CEILING_MS: u64 = 30_000;

#[test]
fn a_question_is_answered() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("Which colour?");
        person.sees("2. Green");
        person.sees("your own answer: ");
        person.types("2\n");
        person.sees("=\"Green\"");
        person.sees("Done.");
        person.sees("> ");
        person.types("\x04");
        assert_eq!(person.end().code(), Some(0), "{agent:?}");
    }
}

#[test]
fn a_line_is_edited_before_it_is_an_answer() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("your own answer: ");
        // Backspace takes one key back, Ctrl-U the line; both are the kernel's.
        person.types("1\x7fMauve\x15Tealx\x7f\n");
        person.sees("=\"Teal\"");
        person.sees("Done.");
        person.types("\x04");
        assert_eq!(person.end().code(), Some(0), "{agent:?}");
    }
}

#[test]
fn a_number_that_is_not_there_is_asked_again() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("your own answer: ");
        person.types("7\n");
        person.sees("Which colour?");
        person.sees("your own answer: ");
        person.types("1\n");
        person.sees("=\"Red\"");
        person.sees("Done.");
        person.types("\x04");
        person.end();
    }
}

#[test]
fn a_question_is_dismissed() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("your own answer: ");
        person.types("\x04");
        // the session lives on: the next prompt is there, and an end of input ends the session
        let before = person.sees("\n> ");
        assert!(!before.contains("=\""), "{before:?}");
        person.types("\x04");
        assert_eq!(person.end().code(), Some(0), "{agent:?}");
    }
}

#[test]
fn a_question_is_interrupted() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("your own answer: ");
        person.types("\x03");
        let before = person.sees("\n> ");
        assert!(before.contains("^C") && !before.contains("Done"), "{before:?}");
        // if nothing runs, the second one leaves
        person.types("\x03");
        assert_eq!(person.end().code(), Some(0), "{agent:?}");
    }
}

#[test]
fn a_command_is_interrupted_and_gone() {
    for agent in agents() {
        // Ctrl-C reaches the command too, as it is in the foreground; it ignores the signal
        let does = vec![Step::Ignore(vec!["INT".to_owned()]), Step::AskTty("Password: ".to_owned())];
        let tool = BashTool { new_session: Some(false), ..BashTool::default() };
        let bash = Bash { command: "make".to_owned(), asks: None, does, timeout: None, tool };
        let mut person = Person::before(&agent, vec![Turn::Bash(bash), done()]);
        person.sees("Password: ");
        person.types("\x03");
        let before = person.sees("\n> ");
        assert!(!before.contains("Done"), "{before:?}");
        person.types("\x04");
        // the terminal ends only when no process holds it any more, the command included
        assert_eq!(person.end().code(), Some(0), "{agent:?}");
    }
}

#[test]
fn the_window_is_resized() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("your own answer: ");
        person.resizes(40, 100);
        person.sees("Which colour?");
        person.sees("your own answer: ");
        person.types("2\n");
        person.sees("=\"Green\"");
        person.sees("Done.");
        person.sees("> ");
        person.resizes(24, 80);
        person.sees("> ");
        person.types("\x04");
        assert_eq!(person.end().code(), Some(0), "{agent:?}");
    }
}

#[test]
fn the_person_hangs_up() {
    for agent in agents() {
        let mut person = Person::before(&agent, vec![colour(), done()]);
        person.sees("your own answer: ");
        let status = person.hangs_up();
        match agent {
            // it catches SIGHUP and leaves by itself
            Agent::Claude(_) => assert_eq!(status.code(), Some(129)),
            // the kernel wakes the readers of a terminal before it signals its session (`pty_close`): now and then the
            // end of the input comes first, and the agent leaves by itself
            _ => assert!(status.signal() == Some(libc::SIGHUP) || status.success(), "{status:?}"),
        }
    }
}

fn agents() -> [Agent; 2] {
    [
        Agent::Claude(Claude { release: "2.0.77".to_owned(), mode: ClaudeMode::Interactive }),
        Agent::Opencode(Opencode {
            release: "1.2.15".to_owned(),
            mode: OpencodeMode::Interactive,
            client: Client::Post,
        }),
    ]
}

fn colour() -> Turn {
    let option = |label: &str| Choice { label: label.to_owned(), description: String::new() };
    Turn::Ask(vec![Question {
        question: "Which colour?".to_owned(),
        header: "Colour".to_owned(),
        options: vec![option("Red"), option("Green")],
        multiple: false,
        custom: None,
    }])
}

fn done() -> Turn {
    Turn::Say("Done.".to_owned())
}

/// A person at a terminal on which a fake runs.
struct Person {
    session: StreamSession<File>,
    master: File,
    child: Child,
    /// Dropping this takes the terminal away from the thread that reads it.
    watching: PipeWriter,
}

impl Person {
    fn before(agent: &Agent, turns: Vec<Turn>) -> Person {
        let argv = rehang_fakes::registry::argv(agent, &[], "go");
        let plan = Plan {
            agent: agent.clone(),
            turns,
            faults: Vec::new(),
            inside: Vec::new(),
            model_port: None,
            tools: None,
            stored: None,
        };
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = File::from(rustix::pty::openpt(flags).expect("a terminal"));
        rustix::pty::unlockpt(&master).expect("a terminal of one's own");
        resize(&master, 24, 80);
        let path = rustix::pty::ptsname(&master, Vec::new()).expect("it has a name");
        let slave = rustix::fs::open(&path, rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY, 0o600.into());
        let slave = File::from(slave.expect("its other side"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-test-fakes"));
        command.arg0(&argv[0]).args(&argv[1..]).env_clear();
        command.env(PLAN_ENV, serde_json::to_string(&plan).expect("a plan is JSON"));
        let stream = || slave.try_clone().expect("a descriptor");
        command.stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: two system calls between fork and exec; neither allocates.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().expect("the fakes' binary");
        let (stop, watching) = std::io::pipe().expect("a pipe");
        let screen = Screen { master: master.try_clone().expect("a descriptor"), stop };
        let writer = master.try_clone().expect("a descriptor");
        let options = Options::new().timeout_ms(Some(CEILING_MS));
        Person { session: StreamSession::new(screen, writer, options), master, child, watching }
    }

    /// Waits until this is on the screen; returns what was there before it.
    fn sees(&mut self, text: &str) -> String {
        self.session.exp_string(text).unwrap_or_else(|error| panic!("{text:?} is not seen: {error}"))
    }

    fn types(&mut self, keys: &str) {
        let sent = self.session.send(keys).and_then(|_| self.session.flush());
        sent.expect("a terminal takes keys");
    }

    fn resizes(&mut self, rows: u16, columns: u16) {
        resize(&self.master, rows, columns);
    }

    /// Waits until the terminal ends, which no process then has open. Returns how the fake ended.
    fn end(mut self) -> ExitStatus {
        self.session.exp_eof().unwrap_or_else(|error| panic!("it does not leave: {error}"));
        self.child.wait().expect("a child")
    }

    /// Closes the terminal's window.
    fn hangs_up(self) -> ExitStatus {
        let Person { session, master, mut child, watching } = self;
        let pid = rustix::process::Pid::from_child(&child);
        let ended = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("a pidfd");
        drop((session, master, watching));
        let ceiling = Timespec { tv_sec: (CEILING_MS / 1_000).cast_signed(), tv_nsec: 0 };
        let left = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&ceiling));
        assert_eq!(left, Ok(1), "it stays when its terminal is gone");
        child.wait().expect("a child")
    }
}

fn resize(master: &File, ws_row: u16, ws_col: u16) {
    let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(master, size).expect("a terminal has a size");
}

/// What the terminal shows, until it ends or is not watched any more.
struct Screen {
    master: File,
    stop: PipeReader,
}

impl Read for Screen {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut polled = [PollFd::new(&self.master, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
        poll(&mut polled, None)?;
        if !polled[1].revents().is_empty() {
            return Ok(0);
        }
        match self.master.read(buffer) {
            // the result of a master's read when the last slave is closed
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            read => read,
        }
    }
}
