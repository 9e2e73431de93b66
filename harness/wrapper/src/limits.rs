//! Which limits of a wrapper were seen to act, from the times at which it ended its agent.
//!
//! A limit on silence ends runs the same span after the agent's last output, whenever that was; a limit on the whole run
//! ends them the same span after the start, whatever was said meanwhile. One run cannot tell the two apart, and neither
//! can several that say the same at the same times; another run can that lived on beyond one of them.
//!
//! Invariant: a limit is named only if the other kind of limit does not explain what was seen.

use crate::cell::Ran;
use rehang_os::alone::journal::{Line, Said};
use rehang_scenario::text::{counted, duration};
use std::fmt::{self, Display, Formatter};

/// The least by which ends at the same limit may differ, in milliseconds: writes to stdout are recorded to the second, and
/// wrappers look at their clocks once a second.
const LEAST_MS: u64 = 2_000;
/// The part of a limit by which ends at it may differ: one in so many.
const PART: u64 = 20;

/// What was seen of one run of one agent. Times are in milliseconds of the run's clock, from the agent's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// When it was over, or was last seen.
    pub life_ms: u64,
    /// From its last output until then.
    pub silence_ms: u64,
    /// Its longest silence before the last output, and so one that it lived through.
    pub bore_ms: u64,
    /// Whether the wrapper ended it.
    pub ended: bool,
}

impl Run {
    /// The run in a journal; `None` if no agent was started, or more than one. `ended`: the wrapper acted, and is blamed
    /// or credited for the end.
    pub fn of(lines: &[Line], ran: &Ran, ended: bool) -> Option<Run> {
        let of_agents: Vec<&Line> = lines.iter().filter(|line| line.is_of_an_agent()).collect();
        let mut starts = of_agents.iter().filter(|line| matches!(line.said, Said::Began { .. }));
        let (start, None) = (starts.next()?.ms, starts.next()) else { return None };
        let by_itself = of_agents.iter().find_map(|line| Some((line.ms, line.agents_end()?)));
        let end = by_itself.map_or(ran.ended_ms, |(ms, _)| ms);
        let (mut last, mut bore) = (start, 0);
        for line in of_agents.iter().filter(|line| line.said == Said::Wrote && line.ms <= end) {
            bore = bore.max(line.ms.saturating_sub(last));
            last = line.ms;
        }
        // an agent that ends well was not ended, whatever became of what it left
        let ended = ended && ran.exit.is_some() && by_itself.is_none_or(|(_, code)| code != 0);
        Some(Run { life_ms: end.saturating_sub(start), silence_ms: end.saturating_sub(last), bore_ms: bore, ended })
    }
}

/// A limit: its shortest and longest span that were seen, in milliseconds, and in how many runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    shortest_ms: u64,
    longest_ms: u64,
    runs: usize,
}

/// The limits of a wrapper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// On silence.
    pub idle: Option<Limit>,
    /// On the whole run.
    pub wall: Option<Limit>,
    /// One that is either.
    pub either: Option<Limit>,
    /// How many runs the wrapper ended.
    pub ended: usize,
    /// The longest silence after which a run went on or ended by itself.
    pub bore_ms: u64,
    /// The longest run that no limit on the whole run ended.
    pub let_ms: u64,
}

impl Limits {
    /// What some runs show.
    pub fn of(runs: &[Run]) -> Limits {
        let mut ended: Vec<Run> = runs.iter().copied().filter(|run| run.ended).collect();
        let mut limits = Limits { ended: ended.len(), ..Limits::default() };
        // the kind that explains more runs first: each run counts once
        let mut kinds = [Kind::Idle, Kind::Wall];
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.largest(&ended).len()));
        for kind in kinds {
            let group = kind.largest(&ended);
            if group.is_empty() {
                continue;
            }
            match kind {
                Kind::Idle => limits.idle = kind.limit(&group),
                Kind::Wall => limits.wall = kind.limit(&group),
            }
            ended.retain(|run| !group.contains(run));
        }
        if limits.idle.is_none() && limits.wall.is_none() {
            let [idle, wall] = [Kind::Idle, Kind::Wall].map(|kind| kind.limit(&kind.alike(&ended)));
            let outlived = |kind: Kind, limit: Option<Limit>| {
                let most = limit.map_or(u64::MAX, |limit| limit.longest_ms + tolerance(limit.longest_ms));
                runs.iter().any(|run| kind.span(run).max(if kind == Kind::Idle { run.bore_ms } else { 0 }) > most)
            };
            match (outlived(Kind::Idle, idle), outlived(Kind::Wall, wall)) {
                (false, true) => limits.idle = idle,
                (true, false) => limits.wall = wall,
                _ => limits.either = wall,
            }
        }
        // a run that a limit of the one kind ended was let go on until then by the other
        let by = |limit: Option<Limit>, span: u64| {
            limit.is_some_and(|limit| (limit.shortest_ms..=limit.longest_ms).contains(&span))
        };
        let (idle, wall) = (limits.idle, limits.wall);
        let bore = |run: &Run| if run.ended && !by(wall, run.life_ms) { 0 } else { run.silence_ms };
        limits.bore_ms = runs.iter().map(|run| run.bore_ms.max(bore(run))).max().unwrap_or(0);
        let lived = |run: &&Run| !run.ended || by(idle, run.silence_ms);
        limits.let_ms = runs.iter().filter(lived).map(|run| run.life_ms).max().unwrap_or(0);
        limits
    }
}

/// What a limit counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Idle,
    Wall,
}

impl Kind {
    fn span(self, run: &Run) -> u64 {
        if self == Kind::Idle { run.silence_ms } else { run.life_ms }
    }

    fn other(self, run: &Run) -> u64 {
        if self == Kind::Idle { run.life_ms } else { run.silence_ms }
    }

    /// The most runs that end after the same span.
    fn alike(self, runs: &[Run]) -> Vec<Run> {
        let from = |least: u64| -> Vec<Run> {
            let within = |run: &&Run| (least..=least + tolerance(least)).contains(&self.span(run));
            runs.iter().filter(within).copied().collect()
        };
        runs.iter().map(|run| from(self.span(run))).max_by_key(Vec::len).unwrap_or_default()
    }

    /// The same, if the other kind does not explain them.
    fn largest(self, runs: &[Run]) -> Vec<Run> {
        let group = self.alike(runs);
        let others = group.iter().map(|run| self.other(run));
        let (least, most) = (others.clone().min().unwrap_or(0), others.max().unwrap_or(0));
        let differ = most - least > 2 * tolerance(least);
        if group.len() > 1 && differ { group } else { Vec::new() }
    }

    fn limit(self, runs: &[Run]) -> Option<Limit> {
        let spans = || runs.iter().map(|run| self.span(run));
        Some(Limit { shortest_ms: spans().min()?, longest_ms: spans().max()?, runs: runs.len() })
    }
}

/// By how much ends at the same limit may differ.
fn tolerance(span_ms: u64) -> u64 {
    (span_ms / PART).max(LEAST_MS)
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (shortest, longest) = (seconds(self.shortest_ms), seconds(self.longest_ms));
        match shortest == longest {
            true => write!(f, "{shortest}"),
            false => write!(f, "{shortest} to {longest}"),
        }
    }
}

/// To the second: more is not known of an output.
fn seconds(ms: u64) -> String {
    duration((ms + 500) / 1_000 * 1_000)
}

impl Display for Limits {
    /// One line.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(either) = &self.either {
            let of = match self.ended {
                1 => "1 ended run".to_owned(),
                all => format!("{} of {all} ended runs", either.runs),
            };
            return write!(
                f,
                "limits: one that acts after {either} ({of}); whether it counts from the start or from the last output was \
                 not seen"
            );
        }
        let of = |limit: &Limit| format!("{limit} ({} of {})", limit.runs, counted(self.ended, "ended run"));
        match &self.idle {
            Some(idle) => write!(f, "idle limit: {}", of(idle))?,
            None => write!(f, "idle limit: none seen, the longest silence it bore was {}", seconds(self.bore_ms))?,
        }
        match &self.wall {
            Some(wall) => write!(f, "; wall limit: {}", of(wall)),
            None => write!(f, "; wall limit: none seen, the longest run it let go on was {}", seconds(self.let_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ended after a life and a silence, in seconds.
    fn ended(life: u64, silence: u64) -> Run {
        Run { life_ms: life * 1_000, silence_ms: silence * 1_000, bore_ms: 0, ended: true }
    }

    fn went_on(life: u64, silence: u64) -> Run {
        Run { ended: false, ..ended(life, silence) }
    }

    fn said(runs: &[Run]) -> String {
        Limits::of(runs).to_string()
    }

    #[test]
    fn the_same_silence_after_different_lives_is_an_idle_limit() {
        let runs = [ended(605, 600), ended(900, 601), ended(10_000, 600), went_on(10_800, 599)];
        assert_eq!(
            said(&runs),
            "idle limit: 10m to 10m1s (3 of 3 ended runs); wall limit: none seen, the longest run it let go on was 3h"
        );
    }

    #[test]
    fn the_same_life_after_different_silences_is_a_wall_limit() {
        let runs = [ended(1_800, 1_795), ended(1_800, 1_000), ended(1_800, 30), went_on(1_799, 1_200)];
        assert_eq!(
            said(&runs),
            "idle limit: none seen, the longest silence it bore was 29m55s; wall limit: 30m (3 of 3 ended runs)"
        );
    }

    #[test]
    fn runs_that_say_the_same_at_the_same_times_do_not_tell_the_kinds_apart() {
        let unknown = "limits: one that acts after 10m5s (2 of 2 ended runs); whether it counts from the start or from the \
                       last output was not seen";
        assert_eq!(said(&[ended(605, 600), ended(605, 600)]), unknown);
        assert!(said(&[ended(605, 600)]).contains("(1 ended run); whether"));
        // but one that lives on does, if it says more or is silent for longer
        let says_more = [ended(605, 600), ended(605, 600), went_on(1_600, 60)];
        assert!(said(&says_more).starts_with("idle limit: 10m (2 of 2 ended runs); wall limit: none seen"));
        let is_silent = [ended(605, 600), went_on(604, 5), Run { bore_ms: 700_000, ..ended(604, 5) }];
        assert!(said(&is_silent).ends_with("; wall limit: 10m4s to 10m5s (2 of 2 ended runs)"), "{}", said(&is_silent));
        // lives that differ by less than a limit's own play say nothing either
        assert!(Limits::of(&[ended(605, 600), ended(620, 600)]).idle.is_none());
    }

    #[test]
    fn both_kinds_are_seen_beside_each_other_and_each_run_counts_once() {
        let idle = [ended(605, 600), ended(900, 600), ended(1_700, 600)];
        let wall = [ended(3_600, 10), ended(3_600, 300)];
        let limits = Limits::of(&[&idle[..], &wall].concat());
        assert_eq!(limits.to_string(), "idle limit: 10m (3 of 5 ended runs); wall limit: 1h (2 of 5 ended runs)");
    }

    #[test]
    fn what_ended_by_itself_is_no_limit() {
        let none = "idle limit: none seen, the longest silence it bore was 1h10m; wall limit: none seen, the longest run it \
                    let go on was 3h";
        assert_eq!(said(&[went_on(4_300, 4_200), went_on(10_800, 20)]), none);
    }

    #[test]
    fn a_journal_says_when_its_agent_was_heard_last() {
        let line = |place: &str, ms: u64, said: Said| Line { ms, place: place.to_owned(), said };
        let word = || String::new();
        let began = || Said::Began { pid: 7, argv: Vec::new(), stdin: word(), file: word(), stdout: word() };
        let mut lines = vec![
            line("7", 1_000, began()),
            line("7", 2_000, Said::Wrote),
            line("7.1", 3_000, Said::Wrote),
            line("7", 62_000, Said::Wrote),
        ];
        let ran = Ran { ended_ms: 100_000, exit: Some(1), ..Ran::default() };
        let run = Run { life_ms: 99_000, silence_ms: 38_000, bore_ms: 60_000, ended: true };
        assert_eq!(Run::of(&lines, &ran, true), Some(run));
        // what ends well was not ended, and its life is over then
        lines.push(line("7", 70_000, Said::Ended(0)));
        let run = Run { life_ms: 69_000, silence_ms: 8_000, ended: false, ..run };
        assert_eq!(Run::of(&lines, &ran, true), Some(run));
        lines.push(line("8", 80_000, began()));
        assert_eq!(Run::of(&lines, &ran, true), None);
    }
}
