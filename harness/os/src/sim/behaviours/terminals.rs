//! Terminals: the line discipline, on a real pseudo-terminal that controls no session, and as the model has it.

use super::real::{Tty, read, write};
use super::{Row, shown};
use crate::line_discipline::{HOLDS, LineDiscipline};
use rustix::io::Errno;
use std::os::fd::AsFd;

/// An operation on a terminal.
#[derive(Clone)]
enum Do {
    /// One write to the master.
    Type(Vec<u8>),
    /// Writes to the slave, a hundred bytes at a time, and nobody reads the master.
    Pile(usize),
    /// A write to the slave.
    Print(Vec<u8>),
    /// A read of the slave.
    Read(usize),
    /// `FIONREAD` on the slave.
    Waiting,
    /// The master is closed.
    HangUp,
}

/// What a call returned, and what came out of the master after it.
#[derive(Debug, PartialEq)]
struct Outcome {
    gave: Option<String>,
    echo: Vec<u8>,
}

/// The model, and the typed text that it has not taken: the kernel keeps that in a queue before the line discipline.
struct Model {
    line: LineDiscipline,
    queue: Vec<u8>,
    hung_up: bool,
}

fn gave(read: Option<Vec<u8>>) -> String {
    match read {
        None => "nothing".into(),
        Some(bytes) if bytes.is_empty() => "the end".into(),
        Some(bytes) => shown(&bytes),
    }
}

impl Model {
    fn new() -> Model {
        Model { line: LineDiscipline::new(), queue: Vec::new(), hung_up: false }
    }

    fn does(&mut self, what: &Do) -> Outcome {
        let mut drains = true;
        let gave = match what {
            Do::Type(text) => {
                self.queue.extend(text);
                None
            }
            Do::Pile(bytes) => {
                self.line.print(&vec![b'x'; *bytes]);
                drains = false;
                None
            }
            Do::Print(bytes) => {
                self.line.print(bytes);
                None
            }
            Do::Read(_) if self.hung_up => Some("the end".into()),
            Do::Read(max) => Some(gave(self.line.read(*max))),
            Do::Waiting => Some(self.line.waiting().to_string()),
            Do::HangUp => {
                self.hung_up = true;
                None
            }
        };
        while !self.queue.is_empty() {
            match self.line.type_in(&self.queue).unwrap().taken {
                0 => break,
                n => drop(self.queue.drain(..n)),
            }
        }
        let echo = if drains { self.line.drain(usize::MAX) } else { Vec::new() };
        Outcome { gave, echo }
    }
}

/// Does it to a real terminal. This many bytes of echo are to come.
fn really(tty: &mut Tty, what: &Do, echo: usize) -> Outcome {
    let mut drains = true;
    let gave = match what {
        Do::Type(text) => {
            assert_eq!(write(tty.master.as_fd(), text), Ok(text.len()));
            None
        }
        Do::Pile(bytes) => {
            for _ in 0..bytes / 100 {
                assert_eq!(write(tty.slave.as_fd(), &[b'x'; 100]), Ok(100));
            }
            tty.has_come((*bytes as u64).min(4_095));
            drains = false;
            None
        }
        Do::Print(bytes) => {
            assert_eq!(write(tty.slave.as_fd(), bytes), Ok(bytes.len()));
            None
        }
        Do::Read(max) => Some(match read(tty.slave.as_fd(), *max) {
            Ok(bytes) => gave(Some(bytes)),
            Err(Errno::AGAIN) => gave(None),
            Err(error) => error.to_string(),
        }),
        Do::Waiting => Some(tty.waiting().to_string()),
        Do::HangUp => {
            tty.hang_up();
            None
        }
    };
    let echo = if drains && tty.is_open { tty.comes_out(echo) } else { Vec::new() };
    Outcome { gave, echo }
}

fn said(what: &Do) -> String {
    let keys = |text: &[u8]| {
        let text = shown(text);
        (0..32_u8).fold(text, |text, key| match key {
            b'\t' | b'\n' | b'\r' => text,
            key => text.replace(&format!("\\x{key:02x}"), &format!("^{}", char::from(key ^ 0x40))),
        })
    };
    match what {
        Do::Type(text) => format!("type {}", keys(text).replace("\\x7f", "^?")),
        Do::Pile(bytes) => format!("print {bytes} bytes that nobody reads"),
        Do::Print(bytes) => format!("print {}", shown(bytes)),
        Do::Read(max) => format!("read {max}"),
        Do::Waiting => "FIONREAD".into(),
        Do::HangUp => "close the master".into(),
    }
}

fn text(outcomes: &[Outcome]) -> String {
    let one = |outcome: &Outcome| {
        let gave = outcome.gave.as_ref().map(|gave| format!("→ {gave}"));
        let echo = (!outcome.echo.is_empty()).then(|| format!("echo {}", shown(&outcome.echo)));
        [gave, echo].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    outcomes.iter().map(one).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

fn row(name: &'static str, script: &[Do]) -> Row {
    let mut model = Model::new();
    let modelled: Vec<Outcome> = script.iter().map(|what| model.does(what)).collect();
    let mut tty = Tty::new();
    let seen: Vec<Outcome> =
        script.iter().zip(&modelled).map(|(what, m)| really(&mut tty, what, m.echo.len())).collect();
    let done = script.iter().map(said).collect::<Vec<_>>().join(", ");
    Row { name, done, linux: text(&seen), model: text(&modelled) }
}

/// What a terminal that nobody reads takes, in writes of this many bytes: at least what the model says, and not much
/// more.
fn fills(size: usize) -> String {
    let tty = Tty::new();
    let mut total = 0;
    while let Ok(n) = write(tty.slave.as_fd(), &vec![b'x'; size]) {
        total += n;
    }
    format!("takes {HOLDS} bytes: {}; takes 32768: {}", total >= HOLDS, total >= 32_768)
}

pub fn rows() -> Vec<Row> {
    let t = |text: &str| Do::Type(text.as_bytes().to_vec());
    let long = |n: usize, rest: &[u8]| Do::Type([vec![b'a'; n], rest.to_vec()].concat());
    let p = |text: &str| Do::Print(text.as_bytes().to_vec());
    let r = Do::Read;
    let (all, w) = (Do::Read(65_536), Do::Waiting);
    let mut rows = vec![
        row("a line is echoed and comes whole", &[t("ab"), all.clone(), t("c\n"), all.clone(), all.clone()]),
        row("Enter is a carriage return", &[t("a\r"), all.clone()]),
        row(
            "a reader gets one line at a time",
            &[t("one\ntwo\nthree\n"), w.clone(), all.clone(), all.clone(), all.clone()],
        ),
        row("a line over reads of one byte", &[t("ab\n"), r(1), r(1), r(1), r(1)]),
        row("a line over a short read", &[t("abcdef\nx\n"), r(4), r(4), r(4)]),
        row("control characters are echoed with a caret", &[t("\u{1}\u{1b}\u{7}\u{0}z\n"), all.clone()]),
        row("a tab is echoed as it is", &[t("a\tb\n"), all.clone()]),
        row("bytes over 127 are echoed as they are", &[Do::Type(vec![0xc3, 0xa9, 0x80, 0xff, b'\n']), all.clone()]),
        row("Backspace", &[t("abc\u{7f}\u{7f}d\n"), all.clone()]),
        row("Backspace at the begin of a line", &[t("\u{7f}a\u{7f}\u{7f}b\n"), all.clone()]),
        row("Backspace over a control character", &[t("a\u{1}\u{7f}\n"), all.clone()]),
        row("Backspace takes a byte, not a character", &[Do::Type("é\u{7f}\n".into()), all.clone()]),
        row("Backspace does not reach the line before", &[t("a\n\u{7f}b\n"), all.clone(), all.clone()]),
        row("Backspace over a tab", &[t("a\tb\u{7f}\u{7f}\n"), all.clone()]),
        row("Backspace over a tab after a tab", &[t("ab\tcde\t\u{7f}\u{7f}\n"), all.clone()]),
        row("Backspace over a tab after a prompt", &[p("name? "), t("a\t\u{7f}b\n"), all.clone()]),
        row("Backspace over a tab after a control character", &[t("\u{1}x\t\u{7f}\n"), all.clone()]),
        row("Ctrl-U erases the line", &[t("ab\u{1}c\u{15}d\n"), all.clone()]),
        row("Ctrl-U over tabs", &[p("> "), t("a\tb\tc\u{15}d\n"), all.clone()]),
        row("Ctrl-W erases a word", &[t("foo bar\u{17}baz\n"), all.clone()]),
        row("Ctrl-W erases what is between, too", &[t("foo_1 bar, \u{17}x\u{17}\u{17}y\n"), all.clone()]),
        row("Ctrl-W: letters of Latin-1 are letters", &[Do::Type(b"a \xe9\xd7\xe8\x17b\n".to_vec()), all.clone()]),
        row("Ctrl-W on an empty line", &[t("\u{17}a\n"), all.clone()]),
        row("Ctrl-V takes the next key literally", &[t("foo\u{16}\u{3}baz\n"), all.clone()]),
        row("Ctrl-V Enter does not end the line", &[t("a\u{16}\nb\n"), all.clone()]),
        row("Ctrl-V Return is no line feed", &[t("a\u{16}\rb\n"), all.clone()]),
        row("Ctrl-V Ctrl-D is no end", &[t("a\u{16}\u{4}b\n"), all.clone()]),
        row("Ctrl-V Backspace is a character", &[t("a\u{16}\u{7f}\u{7f}b\n"), all.clone()]),
        row("Ctrl-R prints the line again", &[t("ab\u{1}c\u{12}d\n"), all.clone()]),
        row("Ctrl-D alone is the end", &[t("\u{4}"), w.clone(), all.clone(), all.clone()]),
        row("Ctrl-D after text ends a line without a newline", &[t("abc\u{4}"), w.clone(), all.clone(), all.clone()]),
        row("a read that ends at Ctrl-D takes it along", &[t("abc\u{4}de\n"), r(3), all.clone()]),
        row("reads of one byte up to Ctrl-D", &[t("ab\u{4}c\n"), r(1), r(1), r(1)]),
        row("Ctrl-D twice", &[t("a\u{4}\u{4}b\n"), all.clone(), all.clone(), all.clone()]),
        row("Ctrl-D after a line", &[t("a\n\u{4}"), w.clone(), all.clone(), all.clone(), all.clone()]),
        row("Ctrl-C discards the line", &[t("abc"), t("\u{3}"), t("d\n"), all.clone()]),
        row("Ctrl-C discards lines that were not read", &[t("one\n"), t("\u{3}"), all.clone()]),
        row("Enter and Ctrl-C in one write: the echo is gone, too", &[t("typeahead\n\u{3}"), all.clone()]),
        row("Enter, Ctrl-C and more in one write", &[t("y\n\u{3}z\n"), all.clone(), all.clone()]),
        row("Ctrl-Z and Ctrl-\\ discard, too", &[t("a\n\u{1a}"), t("b\u{1c}c\n"), all.clone()]),
        row("Ctrl-C twice in one write is echoed once", &[t("a\u{3}\u{3}b\n"), all.clone()]),
        row("Ctrl-C discards output beyond the master's buffer", &[Do::Pile(7_000), t("\u{3}")]),
        row("a line of 4,095 bytes and its end", &[long(4_095, b"\n"), w.clone(), all.clone(), all.clone()]),
        row("a line of 4,096 bytes", &[long(4_096, b"b\n"), w.clone(), all.clone()]),
        row("a line of 5,000 bytes: the last byte gives way", &[long(5_000, b"yz\n"), all.clone(), all.clone()]),
        row("a line that is too long can be erased", &[long(5_000, b""), t("\u{7f}\u{7f}"), t("bc\n"), all.clone()]),
        row("Ctrl-D at the end of a full line", &[long(4_095, b"\x04"), w.clone(), all.clone(), all.clone()]),
        row(
            "beyond a full buffer nothing is echoed before somebody reads",
            &[long(4_000, b"\n"), long(200, b"\n"), all.clone(), all.clone()],
        ),
        row(
            "Ctrl-C beyond a full buffer is not seen before somebody reads",
            &[long(4_093, b"\nb\x03"), all.clone(), all.clone()],
        ),
        row(
            "Ctrl-U on a line of 3,000 bytes overruns the echo",
            &[long(3_000, b""), t("\u{15}"), t("a\n"), all.clone()],
        ),
        row("a program's line feed is carriage return and line feed", &[p("a\nb\r\n"), t("x\n")]),
        row("a terminal that was hung up reads as its end", &[t("abc\n"), Do::HangUp, all.clone(), all]),
    ];
    for (name, size) in [("a terminal that nobody reads is full", 1_000), ("the same, by other writes", 1_793)] {
        let model = format!("takes {HOLDS} bytes: true; takes 32768: false");
        rows.push(Row { name, done: format!("print by {size} bytes"), linux: fills(size), model });
    }
    rows
}

/// Pseudo-random numbers, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn key(&mut self) -> u8 {
        let special = b"\n\r\t\t\x7f\x7f\x7f\x15\x17\x17\x16\x12\x04\x03\x1a\x1c\x00\x01\xff\xe9_ ";
        match self.below(4) {
            0 => special[self.below(special.len() as u64) as usize],
            1 => b" .,-"[self.below(4) as usize],
            2 => match self.below(256) as u8 {
                0x11 | 0x13 => b's',
                byte => byte,
            },
            _ => b'a' + self.below(26) as u8,
        }
    }

    fn act(&mut self) -> Do {
        match self.below(10) {
            0 => Do::Print((0..self.below(40)).map(|_| b"ab\t\x08\r\n"[self.below(6) as usize]).collect()),
            1 | 2 => Do::Read(1 + self.below(30) as usize),
            3 => Do::Read(65_536),
            4 => {
                let key = [b'a', b'a', 0x01, b'\t'][self.below(4) as usize];
                let most = if key == b'\t' { 400 } else { 4_500 };
                Do::Type(vec![key; self.below(most) as usize])
            }
            _ => Do::Type((0..1 + self.below(60)).map(|_| self.key()).collect()),
        }
    }
}

/// How many sessions of random keys are typed.
const SESSIONS: u64 = 400;
/// How many of them at once.
const SIDE_BY_SIDE: usize = 4;

/// The same keys at both, piece by piece as lockstep types them: each piece must have the echo and the input that the
/// model says, and each read the bytes.
#[test]
fn random_keys() {
    // the real terminal is waited for most of the time
    let known = std::thread::scope(|scope| {
        let part = |first| (first..SESSIONS).step_by(SIDE_BY_SIDE).filter(|seed| is_as_predicted(*seed)).count();
        let parts: Vec<_> = (0..SIDE_BY_SIDE as u64).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().map(|part| part.join().expect("as predicted")).sum::<usize>() as u64
    });
    let unknown = SESSIONS - known;
    assert!(unknown < SESSIONS / 20, "{unknown} of {SESSIONS} sessions have no prediction");
}

/// Types one session's keys; whether there is a prediction for all of it.
fn is_as_predicted(seed: u64) -> bool {
    let mut draw = Draw(seed);
    let (mut tty, mut line) = (Tty::new(), LineDiscipline::new());
    for step in 0..40 {
        let what = draw.act();
        let at = format!("seed {seed}, step {step}, {}", said(&what));
        match &what {
            Do::Type(text) => {
                let mut rest = &text[..];
                while !rest.is_empty() {
                    let had_lines = line.readable();
                    let Ok(typed) = line.type_in(rest) else {
                        // the model says that it does not know: the key's echo is longer than what is certain to be
                        // taken
                        return false;
                    };
                    if typed.taken == 0 {
                        break;
                    }
                    let (piece, after) = rest.split_at(typed.taken);
                    let seen = really(&mut tty, &Do::Type(piece.to_vec()), typed.echo.len());
                    assert_eq!(shown(&seen.echo), shown(&typed.echo), "{at}: the echo of {}", shown(piece));
                    if !(typed.echo.is_empty() && had_lines) {
                        assert_eq!(tty.waiting(), line.waiting() as u64, "{at}: input after {}", shown(piece));
                    }
                    rest = after;
                }
                line.drain(usize::MAX);
            }
            Do::Print(bytes) => {
                line.print(bytes);
                let printed = line.drain(usize::MAX);
                let seen = really(&mut tty, &what, printed.len());
                assert_eq!(shown(&seen.echo), shown(&printed), "{at}");
            }
            Do::Read(max) => {
                let expected = gave(line.read(*max));
                assert_eq!(really(&mut tty, &what, 0).gave, Some(expected), "{at}");
            }
            Do::Pile(_) | Do::Waiting | Do::HangUp => {}
        }
    }
    true
}

/// The kernel writes long echo out before a batch of input is over. Whether a signal key's flush still finds it depends
/// on which of the kernel's workers runs first, so that key comes in a piece of its own.
#[test]
fn a_signal_key_after_long_echo_begins_a_piece() {
    let mut line = LineDiscipline::new();
    let mut rest = &[b'a'; 256][..];
    while !rest.is_empty() {
        let Ok(typed) = line.type_in(rest) else { panic!("keys that are modelled") };
        rest = &rest[typed.taken..];
    }
    line.drain(usize::MAX);
    // 256 characters are erased, by three bytes of echo each: that many are written out at once
    let Ok(erased) = line.type_in(b"\x15\x1ab") else { panic!("keys that are modelled") };
    assert_eq!((erased.taken, erased.echo.len()), (1, 768));
    line.drain(usize::MAX);
    let Ok(rest) = line.type_in(b"\x1ab") else { panic!("keys that are modelled") };
    assert_eq!((rest.taken, rest.echo), (2, b"^Zb".to_vec()));
}
