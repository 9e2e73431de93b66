//! What a wrapper's cells come to, for a reader with a minute: similar findings are one, with the catalogue's advice and
//! with where the wrapper's processes waited.
//!
//! Invariant: the order is that of what matters: missed, told wrongly, harmed, left, undecided; then by the number of
//! cells. It does not depend on the order in which the cells ran.

use crate::{Cell, Judged};
use rehang_judge::Verdict;
use rehang_judge::score::Score;
use rehang_os::alone::journal::{Line, Said};
use rehang_scenario::Mechanism;
use rehang_scenario::text::{duration, visible};
use rehang_scenario::{Arm, Invariant};
use rehang_warp::Wait;
use std::collections::BTreeMap;

/// How many findings are told at length.
const AT_LENGTH: usize = 7;
/// How many cells a finding names.
const NAMED: usize = 3;
/// How many waits a finding tells.
const WAITS: usize = 4;
/// The mechanism whose advice is for a wrapper that ends its agent and not what the agent has started.
const GROUP: &str = "B8";

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Missed,
    Wrongly,
    Harmed,
    Left,
    Open,
}

impl Class {
    fn of(cell: &Cell, judged: &Judged) -> Option<Class> {
        let leaves = |verdict: &Verdict| verdict.broken().contains(&Invariant::LeftBehind);
        match judged.score {
            Score::Missed => Some(Class::Missed),
            Score::Wrongly => Some(Class::Wrongly),
            Score::Harmed => Some(Class::Harmed),
            Score::Undecided => Some(Class::Open),
            Score::Untouched | Score::Resolved | Score::Stopped => {
                // what is left without the wrapper too is its agent's
                let is_own = judged.acted || !leaves(&cell.baseline);
                (is_own && leaves(&judged.verdict)).then_some(Class::Left)
            }
        }
    }

    fn word(self) -> &'static str {
        match self {
            Class::Missed => "MISSED",
            Class::Wrongly => "WRONGLY",
            Class::Harmed => "HARMED",
            Class::Left => "left",
            Class::Open => "undecided",
        }
    }
}

/// The name of a cell.
pub fn id(cell: &Cell) -> String {
    let control = if cell.arm == Arm::Control { "::control" } else { "" };
    format!("{}::{}{control}", cell.name, cell.terminal.name())
}

/// What happens without the wrapper and with it, and the invariants that break with it.
pub fn told(cell: &Cell, judged: &Judged) -> String {
    let took = duration(judged.ran.took_ms());
    let broken: Vec<&str> = judged.verdict.broken().into_iter().map(Invariant::name).collect();
    let broken = if broken.is_empty() { String::new() } else { format!(" — breaks {}", broken.join(", ")) };
    let with = match &judged.open {
        Some(open) => open.clone(),
        None => format!("{} after {took}", judged.verdict.outcome.describe()),
    };
    format!("{} → {with}{broken}", cell.baseline.outcome.describe())
}

/// What to do about a run that is harmed although it may hang in another variant.
const ALLOW: &str = "Allow for it: this run ends by itself. Before a limit ends one, ask whether anything still works: rehang why PID --json";

/// The findings as lines. `advice` gives the paragraph of a mechanism in the catalogue that has a label, such as
/// `Prevent`.
pub fn lines(done: &[(&Cell, &Judged)], advice: &dyn Fn(&str, &str) -> Option<String>) -> Vec<String> {
    let mut groups: BTreeMap<(Class, &str), Vec<(&Cell, &Judged)>> = BTreeMap::new();
    for (cell, judged) in done {
        let Some(class) = Class::of(cell, judged) else { continue };
        // whatever the scenario is about, what is left is the same finding, and so is what holds a wrapper without its agent
        let about = match class {
            Class::Missed if judged.agent_is_gone => GROUP,
            Class::Missed | Class::Wrongly | Class::Harmed => cell.scenario.mechanism.as_str(),
            Class::Left | Class::Open => "",
        };
        groups.entry((class, about)).or_default().push((*cell, *judged));
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((class, _), cells)| (*class, std::cmp::Reverse(cells.len())));
    let mut lines = Vec::new();
    for ((class, about), cells) in groups.iter().take(AT_LENGTH) {
        lines.extend(finding(*class, about, cells, advice));
    }
    let rest: Vec<String> = groups
        .iter()
        .skip(AT_LENGTH)
        .map(|((class, about), cells)| format!("{} {} × {}", class.word(), cells.len(), about).trim_end().to_owned())
        .collect();
    if !rest.is_empty() {
        lines.push(format!("and: {} (--all shows each cell)", rest.join(", ")));
    }
    lines
}

fn finding(
    class: Class,
    about: &str,
    cells: &[(&Cell, &Judged)],
    advice: &dyn Fn(&str, &str) -> Option<String>,
) -> Vec<String> {
    let mut names: Vec<String> = cells.iter().take(NAMED).map(|(cell, _)| id(cell)).collect();
    if cells.len() > NAMED {
        names.push(format!("{} more", cells.len() - NAMED));
    }
    let known = about.parse::<Mechanism>().ok();
    let title = known.map(|known| format!("{known} {}: ", known.name())).unwrap_or_default();
    let mut lines = vec![format!("{:<9} {} × {title}{}", class.word(), cells.len(), names.join(", "))];
    let indented = |text: String| format!("          {text}");
    let (cell, judged) = cells[0];
    lines.push(indented(told(cell, judged)));
    // the cell of which most is known
    let seen = cells.iter().find(|(_, judged)| !judged.ran.waits.is_empty() && class != Class::Open);
    if let Some((_, judged)) = seen {
        lines.extend(where_it_waits(&judged.ran.waits).map(|waits| indented(format!("where: {waits}"))));
    }
    let is_gone = seen.is_some_and(|(_, judged)| judged.agent_is_gone);
    let what = match class {
        Class::Left => Some((GROUP, "Prevent")),
        Class::Missed | Class::Harmed if is_gone => Some((GROUP, "Prevent")),
        Class::Harmed if known.is_some_and(Mechanism::is_benign) => Some((about, "Tell it by")),
        Class::Missed | Class::Wrongly => Some((about, "Prevent")),
        Class::Harmed | Class::Open => None,
    };
    let text = match (what, class) {
        (Some((about, label)), _) => advice(about, label).map(|text| format!("{label} ({about}): {text}")),
        (None, Class::Harmed) => Some(ALLOW.to_owned()),
        (None, _) => None,
    };
    lines.extend(text.map(indented));
    lines
}

/// Which threads wait for what, and for whom, in a line; the process that rehang starts for the cell is left out.
fn where_it_waits(waits: &[Wait]) -> Option<String> {
    let own = waits.first().map(|wait| wait.pid);
    let name = |pid: &i32| {
        let known = waits.iter().find(|wait| wait.pid == *pid && wait.tid == *pid);
        known.map_or_else(|| pid.to_string(), |wait| visible(&wait.program))
    };
    let others = |wait: &Wait, holders: &[i32]| -> Vec<i32> {
        holders.iter().copied().filter(|pid| Some(*pid) != own && *pid != wait.pid).collect()
    };
    // of a process with many threads, and of a thread with many descriptors, what another process could end
    let mut pids: Vec<i32> = waits.iter().map(|wait| wait.pid).filter(|pid| Some(*pid) != own).collect();
    pids.dedup();
    let told = |pid: &i32| {
        let threads = || waits.iter().filter(|wait| wait.pid == *pid);
        let pairs = || threads().flat_map(|wait| wait.objects.iter().map(move |object| (wait, object)));
        let (wait, object) =
            pairs().find(|(wait, of)| !others(wait, &of.holders).is_empty()).or_else(|| pairs().next())?;
        let mut holders: Vec<String> = others(wait, &object.holders).iter().map(name).collect();
        holders.dedup();
        let by = if holders.is_empty() { String::new() } else { format!(" ({})", holders.join(", ")) };
        Some(format!("{} in {} waits for {}{by}", visible(&wait.program), wait.call, visible(&object.name)))
    };
    let mut all: Vec<String> = pids.iter().filter_map(told).collect();
    let more = all.len().saturating_sub(WAITS);
    all.truncate(WAITS);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    (!all.is_empty()).then(|| all.join("; "))
}

/// Whether no agent of a journal is among the threads that wait: what it left holds its wrapper.
pub(crate) fn agent_is_gone(waits: &[Wait], journal: &[Line]) -> bool {
    let is_there = |pid: u32| waits.iter().any(|wait| wait.pid == pid.cast_signed());
    let pids = journal.iter().filter(|line| line.is_of_an_agent()).filter_map(|line| match line.said {
        Said::Began { pid, .. } => Some(pid),
        _ => None,
    });
    !waits.is_empty() && !pids.into_iter().any(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_warp::{Object, Source};

    fn wait(pid: i32, program: &str, fd: &str, holders: &[i32]) -> Wait {
        let object = Object { name: fd.to_owned(), source: Source::Inside, holders: holders.to_vec() };
        Wait {
            pid,
            tid: pid,
            program: program.to_owned(),
            call: "read".to_owned(),
            objects: vec![object],
            deadline: None,
        }
    }

    #[test]
    fn a_chain_of_waits_names_the_programs_and_not_rehang_s_own() {
        let waits = [
            wait(1, "rehang", "pidfd 2", &[2]),
            Wait { tid: 9, ..wait(2, "sh", "futex 0x1", &[2]) },
            wait(2, "sh", "child 3", &[3]),
            wait(3, "tee", "fd 0 pipe:[1]", &[1, 3, 4]),
            wait(4, "server\u{1b}", "fd 9", &[]),
        ];
        assert_eq!(
            where_it_waits(&waits).as_deref(),
            Some(
                "sh in read waits for child 3 (tee); tee in read waits for fd 0 pipe:[1] (server\u{fffd}); server\u{fffd} in \
                 read waits for fd 9"
            )
        );
        assert_eq!(where_it_waits(&waits[..1]), None);
        assert_eq!(where_it_waits(&[]), None);
    }
}
