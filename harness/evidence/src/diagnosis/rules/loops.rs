//! A loop that tries again and again: `until [ -f X ]; do sleep 3; done`.
//!
//! Invariant: whatever instant is seen, it is one finding; it is a loop only if its script says so, or if two looks show two
//! naps of the same shell.

use crate::data::{Pid, Process, State};
use crate::diagnosis::Verdict;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::ways::{LONG_MS, SHELLS};
use crate::kind;
use rehang_hangs::Signature;
use rehang_words::text::duration;

/// The most characters of a script that are quoted.
const MAX_SCRIPT: usize = 80;

/// A shell that tries again after each nap.
pub fn rule(view: &View<'_>, process: &Process) -> Option<Finding> {
    if !SHELLS.contains(&kind::program(process)) {
        return None;
    }
    let naps = |child: &&Process| child.comm == "sleep" && child.state != State::Zombie && child.ppid == process.pid;
    let now = view.after.processes().find(naps);
    let before = view.before.processes().find(naps);
    let script = process.args.iter().skip_while(|arg| !is_code(arg)).nth(1);
    let again = matches!((before, now), (Some(before), Some(now)) if before.pid != now.pid);
    let nap = now.or(before)?;
    let says =
        script.is_some_and(|script| loops(script) && naps_within(script, nap.args.get(1).map_or("", String::as_str)));
    let only = |child: &&Process| child.ppid == process.pid && child.state != State::Zombie && child.comm != "sleep";
    if !(says || again) || view.after.processes().filter(only).any(|child| view.before.process(child.pid).is_some()) {
        return None;
    }
    let pid = process.pid;
    let age = view.age_ms(process);
    let every = match (nap.args.get(1).and_then(|arg| seconds(arg)), before, now) {
        (_, Some(before), Some(now)) if again => Some(now.began_ns.saturating_sub(before.began_ns) / 1_000_000),
        (Some(ms), ..) => Some(ms),
        _ => None,
    };
    let every = every.map(|ms| format!(" every {}", duration(ms.max(1)))).unwrap_or_default();
    let what = match script {
        Some(script) => script.clone(),
        None => process.args.join(" "),
    };
    let what: String = what.chars().take(MAX_SCRIPT).collect();
    let text = format!("{} tries again{every}, for {} so far: {what}", view.name(pid), duration(age));
    let finding = Finding::waiting(pid, Signature::TriesAgain, rank::CLOCK + 1, text).ends("what it looks for");
    let finding = match pgrep(script.map_or("", String::as_str)) {
        true => finding.because(
            "it looks for processes by their whole command line, and its own has the same words: it may find itself",
        ),
        false => finding.because("whether what it looks for will come cannot be seen"),
    };
    // nobody waits for that long
    Some(match age > LONG_MS {
        true => Finding { verdict: Verdict::Hung, ..finding.guess() },
        false => finding,
    })
}

/// The loop below a process that is the reason for which processes come and go there.
pub fn below(view: &View<'_>, pid: Pid) -> Option<Finding> {
    let shells = view.after.tree.values().filter(|process| view.after.descends(process.pid, pid));
    let mut found = shells.filter_map(|shell| Some((shell.pid, rule(view, shell)?)));
    let (shell, finding) = found.next()?;
    let of = |snapshot: &crate::data::Snapshot| -> Vec<Pid> {
        let ours = snapshot.tree.values().filter(|process| process.state != State::Zombie);
        ours.map(|process| process.pid)
            .filter(|other| *other != shell && snapshot.descends(*other, pid) && !snapshot.descends(*other, shell))
            .collect()
    };
    (of(view.before) == of(view.after)).then_some(finding)
}

fn is_code(arg: &str) -> bool {
    arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('c')
}

fn loops(script: &str) -> bool {
    let word = |word: &str| script.split(|c: char| !c.is_ascii_alphanumeric()).any(|other| other == word);
    (word("while") || word("until") || word("for")) && word("do") && word("sleep")
}

/// Whether a nap of this length is one of the loop's, and not one behind its end.
fn naps_within(script: &str, length: &str) -> bool {
    let (within, behind) = script.rsplit_once("done").unwrap_or((script, ""));
    within.contains(&format!("sleep {length}")) || !behind.contains("sleep")
}

fn pgrep(script: &str) -> bool {
    script.contains("pgrep -f") || (script.contains("ps ") && script.contains("grep"))
}

/// `3`, `0.5`, `2m`.
fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().last()? {
        (at, 's') => (&text[..at], 1_000.0),
        (at, 'm') => (&text[..at], 60_000.0),
        (at, 'h') => (&text[..at], 3_600_000.0),
        (at, 'd') => (&text[..at], 86_400_000.0),
        _ => (text, 1_000.0),
    };
    let ms = number.parse::<f64>().ok()? * unit;
    (ms.is_finite() && (0.0..1e15).contains(&ms)).then_some(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_known_by_its_words() {
        assert!(loops("until [ -f x ]; do sleep 3; done") && loops("while ! mkdir l; do sleep 1; done"));
        assert!(!loops("sleep 3; done") && !loops("meanwhile do sleep") && !loops("while read x; do echo; done"));
        assert_eq!(
            ["3", "0.5", "2m", "1h", "x", "", "-1", "inf"].map(seconds),
            [Some(3_000), Some(500), Some(120_000), Some(3_600_000), None, None, None, None]
        );
        let after = "until test -e x; do sleep .05; done; sleep \"$SECS\"; kill 1";
        assert!(naps_within(after, ".05") && !naps_within(after, "900"), "the loop is over");
        assert!(naps_within("while true; do sleep $N; done", "3"));
        assert!(is_code("-c") && is_code("-lc") && !is_code("--rc") && !is_code("c"));
        assert!(pgrep("while pgrep -f cargo; do") && !pgrep("while pgrep cargo; do"));
    }
}
