//! How wide the terminal is, and texts that keep to it.
//!
//! Invariant: output that does not go to a terminal has a width that its command names, and so is the same everywhere.

use indicatif::ProgressBar;
use rehang_judge::timeline::{self, WIDTH_MIN};
use rehang_scenario::{Problems, Style};
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Columns of a run's report and of the scoreboard if stdout is not a terminal.
pub const REPORT: usize = 100;

/// Whether whoever reads stdout has stopped reading.
static NO_READER: AtomicBool = AtomicBool::new(false);

/// Whether whoever reads stdout has stopped reading: what is written since then is lost.
pub fn has_no_reader() -> bool {
    NO_READER.load(Ordering::Relaxed)
}

/// stdout for what a command says. If its reader stops reading, the rest is dropped, and the command goes on as if it had
/// been read: its exit code says how it went, not who looked.
pub struct Said<W>(pub W);

impl<W: Write> Write for Said<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        dropped(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        dropped(self.0.flush(), ())
    }
}

fn dropped<T>(written: io::Result<T>, all: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            NO_READER.store(true, Ordering::Relaxed);
            Ok(all)
        }
        Err(error) => Err(io::Error::new(error.kind(), format!("stdout cannot be written: {error}"))),
        written => written,
    }
}

/// Writes a line to stderr, as [`complain!`](crate::complain) does. A stderr that cannot be written is ignored.
pub fn complain(line: fmt::Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Lets a bar that is shown move by itself, which takes a thread; without a thread it moves only when it is updated.
pub fn tick(bar: &ProgressBar, every: Duration) {
    let has_threads = || std::thread::Builder::new().spawn(|| {}).is_ok_and(|thread| thread.join().is_ok());
    if !bar.is_hidden() && has_threads() {
        bar.enable_steady_tick(every);
    }
}

/// The columns of stdout's terminal, at least [`WIDTH_MIN`]; `otherwise` if it is not a terminal.
pub fn width(otherwise: usize) -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|columns| *columns > 0)
        .unwrap_or(otherwise)
        .max(WIDTH_MIN)
}

/// Problems of a file, without the lines that only draw its margin and without blank ones: each is five lines at most.
pub fn dense(problems: &Problems, style: Style) -> String {
    let name = &problems.source.name;
    if std::fs::read(name).is_ok_and(|bytes| bytes.trim_ascii().is_empty()) {
        return format!("error: {name} is empty; `rehang new` writes a first scenario\n");
    }
    let says = |line: &&str| !anstream::adapter::strip_str(line).to_string().trim_matches([' ', '|']).is_empty();
    problems.render(style).lines().filter(says).map(|line| format!("{line}\n")).collect()
}

/// A text in lines of at most `width` columns, broken at blanks where possible. A character outside ASCII counts as two
/// columns.
pub fn fold(text: &str, width: usize) -> String {
    let wide = |c: char| if c.is_ascii() { 1 } else { 2 };
    let (mut out, mut used) = (String::new(), 0);
    for word in timeline::cut(text, 4_000).split_inclusive(' ') {
        let columns: usize = word.trim_end().chars().map(wide).sum();
        if used > 0 && used + columns > width {
            out.truncate(out.trim_end().len());
            out.push('\n');
            used = 0;
        }
        for c in word.chars() {
            if used + wide(c) > width && c != ' ' {
                out.push('\n');
                used = 0;
            }
            out.push(c);
            used += wide(c);
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A text folded to `width` columns after `head`; its further lines begin in the column of its first.
pub fn hanging(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut out = String::new();
    for (n, line) in fold(text, width.saturating_sub(indent).max(1)).lines().enumerate() {
        out.push_str(&if n == 0 { head.to_owned() } else { " ".repeat(indent) });
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_lines_fit_and_lose_nothing_but_blanks() {
        let id = "companion/asked-before-spawn[external-directory]::watcher@pr5(misses=2, for=10m)::null::1::control";
        let text = format!("{id} on lockstep with ä and 字 in it");
        for width in [40, 41, 80] {
            let lines = fold(&text, width);
            assert!(lines.lines().all(|line| line.chars().count() <= width), "{lines}");
            let solid = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(solid(&lines), solid(&text));
        }
        assert_eq!(fold("a b", 40), "a b\n");
        assert_eq!(hanging("  5  ", "it needs a process", 16), "  5  it needs a\n     process\n");
    }
}
