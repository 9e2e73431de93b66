//! A pseudo-terminal with the kernel's line discipline: echo, line editing, signals by key.
//!
//! Invariant: bytes come out of the master as `n_tty` writes them (ONLCR, echo with `^C` for control
//! characters) and out of the slave as it cooks them (ICRNL, whole lines, Ctrl-D). Not modelled: word
//! erase, literal next, reprint, flow control, tabs.

use rehang_fakes::os::{Sig, TtyMode};
use rehang_scenario::Canon;
use std::collections::VecDeque;

/// One pseudo-terminal.
#[derive(Debug)]
pub struct Tty {
    /// What the master has not read.
    to_master: Vec<u8>,
    /// Whole lines (canonical) or bytes as they came (raw); an empty one is Ctrl-D.
    lines: VecDeque<Vec<u8>>,
    /// The line that is being edited.
    edit: Vec<u8>,
    /// How typed bytes are treated.
    pub mode: TtyMode,
    /// The foreground process group.
    pub foreground: u32,
    /// The session that it controls; 0 when none.
    pub session: u32,
    /// Open slave ends.
    pub slaves: u32,
    /// The master is open.
    pub master: bool,
}

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;
const CTRL_Z: u8 = 0x1a;
const CTRL_BACKSLASH: u8 = 0x1c;
const ERASE: u8 = 0x7f;

impl Tty {
    /// A terminal as the kernel makes it.
    pub fn new() -> Tty {
        Tty {
            to_master: Vec::new(),
            lines: VecDeque::new(),
            edit: Vec::new(),
            mode: TtyMode::COOKED,
            foreground: 0,
            session: 0,
            slaves: 0,
            master: true,
        }
    }

    /// A program writes.
    pub fn print(&mut self, bytes: &[u8]) {
        for &b in bytes {
            if b == b'\n' {
                self.to_master.push(b'\r');
            }
            self.to_master.push(b);
        }
    }

    /// The master types; the signals that this sends to the foreground group.
    pub fn type_in(&mut self, bytes: &[u8]) -> Vec<Sig> {
        let mut signals = Vec::new();
        for &byte in bytes {
            let byte = if byte == b'\r' { b'\n' } else { byte };
            if self.mode.signals
                && let Some(sig) = signal_of(byte)
            {
                // n_tty's isig(): both queues are flushed, then the key is echoed
                self.lines.clear();
                self.edit.clear();
                self.to_master.clear();
                self.echo(byte);
                signals.push(sig);
                continue;
            }
            if self.mode.canonical {
                self.cook(byte);
            } else {
                self.echo(byte);
                match self.lines.back_mut() {
                    Some(chunk) => chunk.push(byte),
                    None => self.lines.push_back(vec![byte]),
                }
            }
        }
        signals
    }

    fn cook(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                self.echo(byte);
                self.edit.push(byte);
                self.lines.push_back(std::mem::take(&mut self.edit));
            }
            CTRL_D => self.lines.push_back(std::mem::take(&mut self.edit)),
            ERASE => {
                if let Some(erased) = self.edit.pop() {
                    self.rub_out(erased);
                }
            }
            CTRL_U => {
                while let Some(erased) = self.edit.pop() {
                    self.rub_out(erased);
                }
            }
            _ => {
                self.echo(byte);
                self.edit.push(byte);
            }
        }
    }

    fn rub_out(&mut self, erased: u8) {
        if self.mode.echo {
            let columns = if erased.is_ascii_control() { 2 } else { 1 };
            for _ in 0..columns {
                self.to_master.extend_from_slice(b"\x08 \x08");
            }
        }
    }

    fn echo(&mut self, byte: u8) {
        if !self.mode.echo {
            return;
        }
        match byte {
            b'\n' => self.to_master.extend_from_slice(b"\r\n"),
            b'\t' => self.to_master.push(byte),
            _ if byte.is_ascii_control() => self.to_master.extend_from_slice(&[b'^', byte ^ 0x40]),
            _ => self.to_master.push(byte),
        }
    }

    /// Whether a read of the slave gives something.
    pub fn readable(&self) -> bool {
        !self.lines.is_empty() || !self.master
    }

    /// A program reads: one line at the most; empty is the end of file.
    pub fn read(&mut self, max: usize) -> Option<Vec<u8>> {
        let mut line = self.lines.pop_front()?;
        if line.len() > max {
            let rest = line.split_off(max);
            self.lines.push_front(rest);
        }
        Some(line)
    }

    /// What has come out since the master read last.
    pub fn drain(&mut self, max: usize) -> Vec<u8> {
        let n = self.to_master.len().min(max);
        self.to_master.drain(..n).collect()
    }

    /// Whether the master would read nothing.
    pub fn drained(&self) -> bool {
        self.to_master.is_empty()
    }

    /// Writes the state.
    pub fn canon(&self, canon: &mut Canon) {
        canon.bytes(&self.to_master).bytes(&self.edit);
        canon.num(self.lines.len() as u64);
        for line in &self.lines {
            canon.bytes(line);
        }
        canon.flag(self.mode.echo).flag(self.mode.canonical).flag(self.mode.signals);
        canon.num(u64::from(self.foreground)).flag(self.master).num(u64::from(self.slaves));
    }
}

fn signal_of(byte: u8) -> Option<Sig> {
    match byte {
        CTRL_C => Some(Sig::Int),
        CTRL_Z => Some(Sig::Tstp),
        CTRL_BACKSLASH => Some(Sig::Quit),
        _ => None,
    }
}
