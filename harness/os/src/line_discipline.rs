//! The kernel's line discipline, as a pseudo-terminal starts with it: what a terminal makes of what is typed.
//!
//! It is Linux's `drivers/tty/n_tty.c` for the modes that a pseudo-terminal is created with (ICRNL, IXON, OPOST, ONLCR,
//! ISIG, ICANON, ECHO, ECHOE, ECHOK, ECHOCTL, ECHOKE, IEXTEN): echo, line editing, the keys that send signals, end of
//! file. The simulated kernel's terminal *is* this model; in lockstep it is the prediction to which the real terminal
//! is held. Not modelled: other modes, and flow control (Ctrl-S, Ctrl-Q), which is an error.
//!
//! Invariant: what a call returns is a function of the calls before it alone, and the real kernel returns the same
//! (`tests/kernel.rs` types the same random keys at both). So text goes in by pieces (see [`LineDiscipline::type_in`]),
//! and never more than the kernel processes at once: what is left in its queue depends on when its worker ran.

use crate::os::Sig;
use rehang_scenario::Canon;
use std::collections::VecDeque;

/// The size of the kernel's read buffer and of its echo buffer, in bytes (`N_TTY_BUF_SIZE`).
const BUFFER: usize = 4_096;
/// How much echo is written out before a batch of input is over, in bytes of the echo buffer (`ECHO_COMMIT_WATERMARK`).
const WATERMARK: usize = 256;
/// If more echo than this could not be written out, in bytes, the oldest is dropped (`ECHO_DISCARD_WATERMARK`).
const DISCARD: usize = BUFFER - (256 + 32);
/// The longest piece, in bytes, and how much echo ends a piece: half of what the kernel writes out before the piece is
/// over, so that a signal key discards the same echo every time.
const PIECE: usize = 128;
/// What the kernel keeps for the master when a signal key discards the output that nobody has read: the read buffer of
/// the master's own line discipline.
const KEPT: usize = BUFFER - 1;

/// How many bytes a terminal that nobody reads takes of what programs print, with `\r\n` for a line's end. Linux takes
/// between 9,735 and 20,145 bytes; that depends on how the writes are cut and on when its worker runs (measured on
/// 6.18).
pub const HOLDS: usize = 8_192;

const ESCAPE: u8 = 0xff;
const ERASE_TAB: u8 = 0x82;
const SET_CANON_COLUMN: u8 = 0x81;
/// Nobody asks for this one, but what is left of an overrun echo buffer may look like it.
const MOVE_BACK: u8 = 0x80;

const INTR: u8 = 0x03;
const EOF: u8 = 0x04;
const REPRINT: u8 = 0x12;
const START: u8 = 0x11;
const STOP: u8 = 0x13;
const KILL: u8 = 0x15;
const LNEXT: u8 = 0x16;
const WERASE: u8 = 0x17;
const SUSP: u8 = 0x1a;
const QUIT: u8 = 0x1c;
const ERASE: u8 = 0x7f;

/// A key that this model does not cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotModelled {
    /// Ctrl-S or Ctrl-Q. A scenario that types them is refused when it is checked.
    #[error("Ctrl-S or Ctrl-Q was typed at a terminal, and flow control is not modelled")]
    FlowControl,
    /// One key, such as Ctrl-U on a line of a thousand tabs, echoes more than a terminal is certain to take at once.
    #[error("one key at a terminal echoes more than {SURE} bytes, and how much of that comes out is not modelled")]
    TooMuchEcho,
}

/// How much echo comes out at once: what a pseudo-terminal takes (8,192 bytes), without what the kernel may hold in a
/// buffer that it has not given back (1,792 and its rounding).
const SURE: usize = 6_144;

/// What became of typed text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Typed {
    /// How many bytes were processed; 0 if the reader has to read first.
    pub taken: usize,
    /// The bytes that were echoed.
    pub echo: Vec<u8>,
    /// The signals to the foreground group, in order; those of one piece are the same.
    pub signals: Vec<Sig>,
}

/// A byte of input that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    byte: u8,
    /// It ends a line. The end of file is also such a byte, a 0 that no reader gets.
    ends: bool,
}

const END_OF_FILE: Cell = Cell { byte: 0, ends: true };

/// The line discipline of one terminal, and what came out of its master and has not been read.
#[derive(Debug, Clone)]
pub struct LineDiscipline {
    /// The read buffer: complete lines, then the line that is being edited.
    input: VecDeque<Cell>,
    /// How many of its bytes are complete lines.
    complete: usize,
    /// The next key is taken literally (after Ctrl-V).
    literally: bool,
    /// The column where the next character appears.
    column: u64,
    /// The column where the line that is being edited begins.
    canon_column: u64,
    echo: Echo,
    /// What has come out of the master, and was not read there.
    output: VecDeque<u8>,
}

/// The echo that has not been written out: characters and operations, in the kernel's encoding. Positions count bytes
/// from the last signal key on.
#[derive(Debug, Clone)]
struct Echo {
    ring: Vec<u8>,
    /// The position of the next byte.
    head: usize,
    /// Where the part ends that a program's write brings out.
    mark: usize,
    /// Where the part ends that is being written out.
    commit: usize,
    /// Everything before this position was written out.
    tail: usize,
}

impl Default for LineDiscipline {
    fn default() -> LineDiscipline {
        LineDiscipline::new()
    }
}

impl LineDiscipline {
    /// A terminal in the state in which the kernel creates it.
    pub fn new() -> LineDiscipline {
        LineDiscipline {
            input: VecDeque::new(),
            complete: 0,
            literally: false,
            column: 0,
            canon_column: 0,
            echo: Echo { ring: vec![0; BUFFER], head: 0, mark: 0, commit: 0, tail: 0 },
            output: VecDeque::new(),
        }
    }

    /// Types the first piece of a text. The kernel is given one piece at a time, and has processed it before it gets
    /// the next. A piece ends after [`PIECE`] bytes, where the read buffer is full, where much echo has come together,
    /// and before a signal key that differs from one before it or comes after echo that was written out.
    ///
    /// # Errors
    /// A key that is not modelled; what came before it in the text was typed by an earlier call, or is lost.
    pub fn type_in(&mut self, text: &[u8]) -> Result<Typed, NotModelled> {
        let before = self.output.len();
        let mut typed = Typed::default();
        let mut flushed = None;
        let mut more = true;
        while more {
            let (batch, overflows) = match BUFFER - 1 - self.input.len().min(BUFFER - 1) {
                // Without a complete line, the kernel goes on processing keys, since one of them may end or erase the
                // line.
                0 if self.complete == 0 => (1, true),
                0 => break,
                room => (room, false),
            };
            let mut in_batch = 0;
            while in_batch < batch && more {
                let Some(&key) = text.get(typed.taken) else { break };
                let signal = signal_of(key).filter(|_| !self.literally);
                if let (Some(next), Some(last)) = (signal, typed.signals.last())
                    && next != *last
                {
                    more = false;
                    break;
                }
                if let Some(signal) = signal {
                    // what was written out before, by an earlier batch or in this one, is on its way to the master, and a
                    // flush might or might not find it
                    if typed.taken > in_batch || self.output.len() > flushed.unwrap_or(before) {
                        more = false;
                        break;
                    }
                    typed.signals.push(signal);
                    self.interrupt();
                    flushed = Some(self.output.len());
                }
                self.key(key, signal.is_some())?;
                typed.taken += 1;
                in_batch += 1;
                more = typed.taken < PIECE && self.echo.head - self.echo.tail < PIECE && typed.taken < text.len();
            }
            self.flush_echo();
            // The last byte of a full buffer is overwritten by the next one.
            if self.input.len() == BUFFER && self.complete == 0 {
                self.input.pop_back();
            }
            more &= overflows;
        }
        typed.echo = self.output.range(flushed.unwrap_or(before)..).copied().collect();
        let left = self.echo.head - self.echo.tail;
        let tabs = (0..left).filter(|&at| self.echo.at(at) == ESCAPE && self.echo.at(at + 1) == ERASE_TAB).count();
        match typed.echo.len() > SURE || left + 8 * tabs > SURE {
            true => Err(NotModelled::TooMuchEcho),
            false => Ok(typed),
        }
    }

    /// A signal key: input and output that nobody has read are discarded.
    fn interrupt(&mut self) {
        let Echo { ring: _, head, mark, commit, tail } = &mut self.echo;
        (*head, *mark, *commit, *tail) = (0, 0, 0, 0);
        self.output.truncate(KEPT);
        self.input.clear();
        self.complete = 0;
    }

    /// One key (`n_tty_receive_char_special`).
    fn key(&mut self, key: u8, signals: bool) -> Result<(), NotModelled> {
        if self.literally {
            self.literally = false;
            self.store(key);
            return Ok(());
        }
        if signals {
            self.echo_char(key);
            self.commit_echo();
            return Ok(());
        }
        match if key == b'\r' { b'\n' } else { key } {
            START | STOP => return Err(NotModelled::FlowControl),
            ERASE | KILL | WERASE => {
                self.erase(key);
                self.commit_echo();
            }
            LNEXT => {
                self.literally = true;
                self.echo.raw(b'^');
                self.echo.raw(b'\x08');
                self.commit_echo();
            }
            REPRINT => {
                self.echo_char(key);
                self.echo.raw(b'\n');
                for at in self.complete..self.input.len() {
                    self.echo_char(self.input[at].byte);
                }
                self.commit_echo();
            }
            b'\n' => {
                self.echo.raw(b'\n');
                self.commit_echo();
                self.end_line(Cell { byte: b'\n', ends: true });
            }
            EOF => self.end_line(END_OF_FILE),
            key => self.store(key),
        }
        Ok(())
    }

    fn end_line(&mut self, end: Cell) {
        self.input.push_back(end);
        self.complete = self.input.len();
    }

    fn store(&mut self, byte: u8) {
        if self.complete == self.input.len() {
            self.echo.add(ESCAPE);
            self.echo.add(SET_CANON_COLUMN);
        }
        self.echo_char(byte);
        self.commit_echo();
        self.input.push_back(Cell { byte, ends: false });
    }

    /// Erases one character, a word or the line (`eraser`).
    fn erase(&mut self, key: u8) {
        let mut in_word = false;
        while self.input.len() > self.complete
            && let Some(Cell { byte, .. }) = self.input.back().copied()
        {
            if key == WERASE {
                if is_alphanumeric(byte) || byte == b'_' {
                    in_word = true;
                } else if in_word {
                    break;
                }
            }
            self.input.pop_back();
            match byte {
                b'\t' => self.erase_tab(),
                byte => {
                    for _ in 0..=u8::from(byte.is_ascii_control()) {
                        for b in *b"\x08 \x08" {
                            self.echo.raw(b);
                        }
                    }
                }
            }
            if key == ERASE {
                break;
            }
        }
    }

    /// Goes back over a tab: how far depends on what is before it, up to the previous tab or the start of the line.
    fn erase_tab(&mut self) {
        let mut columns = 0_u8;
        let mut after_tab = 0;
        for cell in self.input.range(self.complete..).rev() {
            match cell.byte {
                b'\t' => {
                    after_tab = 0x80;
                    break;
                }
                byte => columns = (columns + 1 + u8::from(byte.is_ascii_control())) & 7,
            }
        }
        for b in [ESCAPE, ERASE_TAB, columns | after_tab] {
            self.echo.add(b);
        }
    }

    fn echo_char(&mut self, byte: u8) {
        if byte == ESCAPE || (byte.is_ascii_control() && byte != b'\t') {
            self.echo.add(ESCAPE);
        }
        self.echo.add(byte);
    }

    /// Writes echo out once enough of it has come together (`commit_echoes`).
    fn commit_echo(&mut self) {
        let echo = &mut self.echo;
        let held = echo.commit - echo.tail;
        echo.mark = echo.head;
        let all = echo.head - echo.tail;
        if all >= WATERMARK && all % WATERMARK <= held % WATERMARK {
            echo.commit = echo.head;
            self.write_echo();
        }
    }

    /// Writes all echo out, at the end of a batch of input (`flush_echoes`).
    fn flush_echo(&mut self) {
        if self.echo.commit != self.echo.head {
            self.echo.commit = self.echo.head;
            self.write_echo();
        }
    }

    /// Writes committed echo out (`__process_echoes`). The comparisons are the kernel's: of echo that has overrun the
    /// buffer, a part is lost.
    fn write_echo(&mut self) {
        let end = self.echo.commit % BUFFER;
        while self.echo.tail % BUFFER != end {
            let (first, second, third) = (self.echo.at(0), self.echo.at(1), self.echo.at(2));
            if first != ESCAPE {
                self.echo.tail += 1;
                match first {
                    b'\n' => {
                        self.put(b'\r');
                        self.put(b'\n');
                    }
                    byte => self.put(byte),
                }
                continue;
            }
            if (self.echo.tail + 1) % BUFFER == end {
                return;
            }
            match second {
                ERASE_TAB => {
                    if (self.echo.tail + 2) % BUFFER == end {
                        return;
                    }
                    let from = if third & 0x80 == 0 { self.canon_column } else { 0 };
                    for _ in 0..8 - ((u64::from(third) + from) & 7) {
                        self.put(b'\x08');
                    }
                    self.echo.tail += 1;
                }
                SET_CANON_COLUMN => self.canon_column = self.column,
                MOVE_BACK => self.column = self.column.saturating_sub(1),
                ESCAPE => self.put(ESCAPE),
                byte => {
                    self.output.extend([b'^', byte ^ 0x40]);
                    self.column += 2;
                }
            }
            self.echo.tail += 2;
        }
        while self.echo.commit > self.echo.tail && self.echo.commit - self.echo.tail >= DISCARD {
            self.echo.tail += match (self.echo.at(0), self.echo.at(1)) {
                (ESCAPE, ERASE_TAB) => 3,
                (ESCAPE, _) => 2,
                _ => 1,
            };
        }
    }

    /// Puts one byte out of the master.
    fn put(&mut self, byte: u8) {
        match byte {
            b'\r' | b'\n' => (self.column, self.canon_column) = (0, 0),
            b'\t' => self.column += 8 - (self.column & 7),
            b'\x08' => self.column = self.column.saturating_sub(1),
            byte if byte.is_ascii_control() => {}
            _ => self.column += 1,
        }
        self.output.push_back(byte);
    }

    /// The echo that comes out before what a program writes next; most often none.
    pub fn before_print(&mut self) -> Vec<u8> {
        let before = self.output.len();
        if self.echo.mark != self.echo.tail {
            self.echo.commit = self.echo.mark;
            self.write_echo();
        }
        self.output.range(before..).copied().collect()
    }

    /// A program prints. The caller has checked [`LineDiscipline::room`].
    pub fn print(&mut self, bytes: &[u8]) {
        self.before_print();
        for &byte in bytes {
            if byte == b'\n' {
                self.put(b'\r');
            }
            self.put(byte);
        }
    }

    /// A program's output has come out of a real master, unchanged: with `\r\n` for a line's end.
    pub fn printed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.put(byte);
        }
    }

    /// How many bytes of output the terminal still takes; a line's end counts as two (see [`crate::os::tty_takes`]).
    pub fn room(&self) -> usize {
        HOLDS.saturating_sub(self.output.len())
    }

    /// Whether a read of the slave returns something.
    pub fn readable(&self) -> bool {
        self.complete > 0
    }

    /// A program reads: at most `max` bytes of at most one line. Empty is the end of file; `None` if nothing is there.
    pub fn read(&mut self, max: usize) -> Option<Vec<u8>> {
        if self.complete == 0 {
            return None;
        }
        let mut line = Vec::new();
        while line.len() < max {
            let Some(cell) = self.take() else { break };
            if cell != END_OF_FILE {
                line.push(cell.byte);
            }
            if cell.ends {
                return Some(line);
            }
        }
        // A read that ends at an end of file consumes it too (`canon_skip_eof`).
        if self.complete > 0 && self.input.front() == Some(&END_OF_FILE) {
            self.take();
        }
        Some(line)
    }

    fn take(&mut self) -> Option<Cell> {
        self.complete = self.complete.checked_sub(1)?;
        self.input.pop_front()
    }

    /// How many bytes of complete lines that were not read the kernel reports (`FIONREAD`, `inq_canon`).
    pub fn waiting(&self) -> usize {
        let ends = self.input.range(..self.complete).filter(|cell| **cell == END_OF_FILE).count();
        // a buffer that is full to the last byte looks empty to the loop that counts the ends of file
        self.complete - if self.complete == BUFFER { 0 } else { ends }
    }

    /// Takes at most `max` bytes of what has come out of the master.
    pub fn drain(&mut self, max: usize) -> Vec<u8> {
        let n = self.output.len().min(max);
        self.output.drain(..n).collect()
    }

    /// Whether a read of the master returns something.
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let LineDiscipline { input, complete, literally, column, canon_column, echo, output } = self;
        canon.num(input.len() as u64).num(*complete as u64).flag(*literally).num(*column).num(*canon_column);
        canon.bytes(&input.iter().map(|cell| cell.byte).collect::<Vec<u8>>());
        for (at, _) in input.iter().enumerate().filter(|(_, cell)| cell.ends) {
            canon.num(at as u64);
        }
        echo.canon(canon);
        canon.bytes(&output.iter().copied().collect::<Vec<u8>>());
    }
}

impl Echo {
    fn add(&mut self, byte: u8) {
        self.ring[self.head % BUFFER] = byte;
        self.head += 1;
    }

    /// Adds a character that is echoed as it is.
    fn raw(&mut self, byte: u8) {
        self.add(byte);
    }

    fn at(&self, offset: usize) -> u8 {
        self.ring[(self.tail + offset) % BUFFER]
    }

    fn canon(&self, canon: &mut Canon) {
        let Echo {
            ring: _, // not compared: written below, as far as it is in use
            head,
            mark,
            commit,
            tail,
        } = self;
        canon.num((head - tail) as u64).num(mark.abs_diff(*tail) as u64).num(commit.abs_diff(*tail) as u64);
        let held: Vec<u8> = (0..(head - tail).min(BUFFER)).map(|offset| self.at(offset)).collect();
        canon.bytes(&held);
    }
}

/// The kernel's own table (`lib/ctype.c`): letters of Latin-1 are letters.
fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || (byte >= 0xc0 && byte != 0xd7 && byte != 0xf7)
}

/// The signal that a key sends.
fn signal_of(key: u8) -> Option<Sig> {
    match key {
        INTR => Some(Sig::Int),
        SUSP => Some(Sig::Tstp),
        QUIT => Some(Sig::Quit),
        _ => None,
    }
}
