//! Terminals: a key that nobody presses, a screen that nobody reads.
//!
//! Invariant: a process that waits for a key is never called broken: the sentence says where the key must be typed.

use super::{On, Rules, Wait, end_it, left, pipe, steady};
use crate::data::{Descriptor, Object, Pid, Process, TimeLimit};
use crate::diagnosis::Verdict;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::ways;
use crate::shells::COMMON;
use crate::{kind, tools};
use rehang_hangs::{Mechanism, Signature};
use rehang_words::prompt::{self, WaitsAt};

/// Whether a process is an editor.
pub fn is_editor(process: &Process) -> bool {
    [kind::program(process), &process.comm].map(prompt::of_program).contains(&WaitsAt::Editor)
}

/// A wait for a key.
pub fn read(view: &View<'_>, process: &Process, wait: &Wait, fd: &Descriptor) -> Option<Finding> {
    let pid = process.pid;
    let Object::Tty { path, index } = &fd.what else { return None };
    let name = view.name(pid);
    let masters = index.map(|index| view.masters(index)).unwrap_or_default();
    let at = match masters.as_slice() {
        [] => format!("the terminal {path}"),
        masters => format!("the terminal {path} (whose keys come from {})", view.names(masters)),
    };
    if COMMON.contains(&process.comm.as_str())
        && process.args.iter().skip(1).all(|arg| arg.starts_with('-') && arg != "-c")
    {
        let text = format!("{name} waits for a command at {at}");
        return Some(Finding::waiting(pid, Signature::ShellPrompt, rank::SERVES, text).ends("a command"));
    }
    if let Some(kind) = view.agent(pid) {
        if wait.polled && kind::headless(&kind, process) {
            return None;
        }
        if is_of_another(process, path, *index) {
            let text = format!("{name} reads {at}, which is not its own: no person types there for it");
            let finding =
                Finding::waiting(pid, Signature::TtyForeign, rank::LOOP, text).ends("what comes on that line");
            return Some(finding.because("a serial line or the terminal of another program is no screen of the agent"));
        }
        let text = format!("{name} shows its screen and waits for a person's key at {at}");
        let finding = Finding::waiting(pid, Signature::TerminalPerson, rank::LOOP, text)
            .ends("a key, or the answer that its screen asks for");
        return Some(
            Finding { mechanism: Some(Mechanism::T3), ..finding }
                .because("whether anybody sits there cannot be seen from here"),
        );
    }
    // a server that also takes keys waits for its requests
    if wait.polled && super::network::serves(view, process, &view.waits(process)).is_some() {
        return None;
    }
    // a loop over several descriptors with the terminal among them is a program with a screen of its own
    let waits = match prompt::of_program(kind::program(process)) {
        WaitsAt::Terminal => prompt::of_program(&process.comm),
        waits => waits,
    };
    let (signature, does) = match waits {
        WaitsAt::Pager => (Signature::Pager, "shows a page and waits for a key at"),
        WaitsAt::Editor => (Signature::Editor, "is an editor and waits for keys at"),
        _ => (Signature::TtyRead, "waits for a key at"),
    };
    let outside = end_it(view, pid);
    let ends = match (signature, tools::of(process)) {
        (Signature::Pager, _) => {
            format!("the key q there; next time, set PAGER and GIT_PAGER to cat; from outside: {outside}")
        }
        (Signature::Editor, _) => {
            format!("an end of the editor there; next time, set GIT_EDITOR=true; from outside: {outside}")
        }
        (_, Some(tool)) => format!(
            "an answer typed there; next time, {} makes it fail at once instead; from outside: {outside}",
            tool.switch
        ),
        _ => format!(
            "a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: {outside}"
        ),
    };
    let asks = process.prompt.as_ref().map(|prompt| format!(", where it asks “{prompt}”")).unwrap_or_default();
    let finding = Finding::hung(pid, signature, Mechanism::from(waits), format!("{name} {does} {at}{asks}")).ends(ends);
    let because = format!("{} on {path} in the terminal's foreground group {}", wait.call, process.tty_group);
    if !view.is_of_a_run(pid) {
        let finding = Finding { verdict: Verdict::Waiting, ..finding };
        return Some(finding.because(format!("{because}; no agent runs it: a person may sit there, or come")));
    }
    Some(match (steady(view, process, wait), left(wait.limit)) {
        (true, None) => finding.because(because).certain(),
        (true, Some(left)) if wait.limit != TimeLimit::Never => finding.because(format!("{because}, {left} at a time")),
        _ => finding.because(because),
    })
}

/// A wait for room on a terminal: the holder of its master does not read.
pub fn write(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, fd: &Descriptor) -> Option<Finding> {
    let (view, pid) = (rules.view, process.pid);
    let Object::Tty { path, index } = &fd.what else { return None };
    let name = view.name(pid);
    let masters = index.map(|index| view.masters(index)).unwrap_or_default();
    let who = view.names(&masters);
    if !steady(view, process, wait) || view.io(pid).written_bytes > 0 {
        // a loop that could write is no wait
        if wait.polled {
            return None;
        }
        let text = format!("{name} writes to {path} as fast as {who} reads");
        return Some(Finding::waiting(pid, Signature::SlowReader, rank::CLOCK, text).ends("the reader's pace"));
    }
    let reads = |master: &Pid| view.process(*master).is_some_and(|process| reads_master(view, process, *index));
    if masters.iter().any(reads) {
        let text = format!(
            "{name} cannot write to the terminal {path}: its output is stopped (Ctrl-S), since {who} reads the other side"
        );
        let ends = format!("Ctrl-Q typed there; from outside: {}", end_it(view, pid));
        let because = format!("{} throughout, not a byte went, and the other side is read", wait.call);
        return Some(Finding::hung(pid, Signature::TtyUnread, Mechanism::T6, text).ends(ends).because(because));
    }
    let text = format!("{name} cannot write to the terminal {path}: {who}, who holds the other side, does not read it");
    let ends = format!("{who} reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: {}", end_it(view, pid));
    let because = format!("{} throughout, and not a byte went", wait.call);
    let finding = Finding::hung(pid, Signature::TtyUnread, Mechanism::T6, text).ends(ends);
    if let Some(why) = masters.iter().find_map(|master| pipe::does_first(rules, *master, pid)) {
        let finding = finding.because(format!("{because}; {why}, and may read then"));
        return Some(finding.after(view.age_ms(process), ways::LONG_MS));
    }
    Some(finding.because(because).certain())
}

/// Whether a terminal is not the one that a process was started at: a serial line, or another program's.
fn is_of_another(process: &Process, path: &str, index: Option<u64>) -> bool {
    let device = u64::from(process.tty);
    let own = (libc::major(device).saturating_sub(136)) * 256 + libc::minor(device);
    match index {
        // a controlling terminal is known by its number alone, whatever devpts it is of
        Some(index) => {
            process.tty != 0
                && (136..=143).contains(&libc::major(device))
                && own != crate::data::number_in_devpts(index)
        }
        None => {
            path.starts_with("/dev/tty") && path.len() > "/dev/tty".len() && !path[8..].starts_with(char::is_numeric)
        }
    }
}

/// Whether a process is in a call that reads the master of a pseudo-terminal now.
fn reads_master(view: &View<'_>, process: &Process, index: Option<u64>) -> bool {
    let is_it = |fd: i32| {
        let what = process.fd(fd).map(|fd| &fd.what);
        matches!(what, Some(Object::Master { index: other }) if Some(*other) == index)
    };
    view.waits(process).iter().any(|wait| matches!(wait.on, On::Input(fd) if is_it(fd)))
}

/// A terminal's request that waits: settings that take effect once the output is through.
pub fn ioctl(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, fd: i32, request: u64) -> Option<Finding> {
    // TCSETSW, TCSETSF, TCSBRK wait for the output to drain
    let drains = matches!(request, 0x5403 | 0x5404 | 0x5409);
    let descriptor = process.fd(fd).filter(|_| drains)?;
    write(rules, process, wait, descriptor)
}
