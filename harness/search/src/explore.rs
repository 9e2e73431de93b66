//! Looks for what breaks an invariant, and keeps going where something new was reached.
//!
//! A step plays one scenario under `none` and under every stack that has a seat in its agent. A scenario that reached
//! something new, under whichever stack, is kept, and later ones are made from those that were kept; a scenario that
//! was taken up seldom, costs little and gave much is taken up first. What breaks an invariant that `none` does not
//! break is a finding: it is kept once for each cause ([`Key`]), with the smallest scenario that showed it.
//!
//! A search against one stack plays that one alone, and a hang that it does not end is a finding too.
//!
//! Kinds of agents share the work by how many stacks they have, not the steps: a plain program's cell costs a hundredth
//! of a server's. A stack that took more than its part of a kind's work is left out for a while. What a stack does
//! counts as new even if its cell is given up, so that the next scenarios come further; those that are made from a
//! scenario with such a cell are played patiently more often.
//!
//! Invariant: what is found is a function of the seed and the number of steps.

use crate::case::{Case, NONE, Shown};
use crate::cover;
use crate::finding::{Finding, Key, cause, missed};
use crate::known::DEFECTS;
use crate::limits::rng;
use crate::mutate::{changed, fresh};
use crate::observed::Observed;
use rehang_judge::Verdict;
use rehang_scenario::random::{Kind, Rng};
use rehang_scenario::{Agent, Scenario, Span};
use rehang_trace::{Fact, Trace, What};
use std::collections::{BTreeMap, BTreeSet};

/// The most scenarios of a kind that are kept.
const CORPUS_MAX: usize = 1_000;
/// One step in this many starts from nothing.
const FRESH_EVERY: usize = 4;
/// Scenarios that are looked at before one is taken up.
const LOOKED_AT: usize = 3;
/// Steps of a cell: a run of an hour that is polled every 5 s ends within them.
pub const STEPS: u64 = 2_500;
/// Steps of a cell if the search is patient: four hours, polled at that pace, take 9,000. Few cells take so many, and
/// those few would take most of the time.
const STEPS_PATIENT: u64 = 10_000;
/// The search is patient with one scenario in this many.
const PATIENT_EVERY: usize = 8;
/// It is patient with one in this many of those that are made from a scenario that was given up under some stack.
const PATIENT_BEHIND: usize = 2;
/// Events of a scenario's cells that count as much as taking it up once more.
const EVENTS_DEAR: usize = 4_000;
/// A stack is left out while it has had more than this fraction (one part in `PART`) of its kind's events: there are 19
/// stacks of a server, and one that polls for hours had a quarter of all.
const PART: usize = 8;
/// If nothing is asked, a stack that only acts on asks is played once in this many times.
const IDLE_EVERY: usize = 8;
/// Strategies that only act on asks.
const ACT_ON_ASKS: [&str; 3] = ["auto-answer", "not-offered", "pending-ask"];
/// What a step costs in addition to its cells' events, in events.
const EVENTS_STEP: usize = 100;

/// A scenario that is kept.
#[derive(Debug)]
struct Kept {
    news: News,
    /// How much it reached that was new.
    gave: usize,
    /// How often it was taken up.
    taken: usize,
    /// How many events its cells had: what it costs to play.
    events: usize,
}

/// A scenario that reached something new, and what its cells met.
#[derive(Debug, Clone)]
pub struct News {
    /// The scenario.
    pub(crate) scenario: Scenario,
    observed: Observed,
    /// Whether a cell of it was given up.
    given_up: bool,
}

/// What a kind of agents has had.
#[derive(Debug, Default)]
struct Share {
    events: usize,
    stacks: BTreeMap<String, usize>,
}

impl Share {
    /// Events per stack: the next step is for the kind with the fewest.
    fn each(&self) -> usize {
        self.events / self.stacks.len().max(1)
    }

    fn spend(&mut self, stack: &str, events: usize) {
        self.events += events;
        match self.stacks.get_mut(stack) {
            Some(spent) => *spent += events,
            None => drop(self.stacks.insert(stack.to_owned(), events)),
        }
    }

    /// Whether a stack has had more than its part.
    fn is_over(&self, stack: &str) -> bool {
        self.stacks.len() > PART && self.stacks.get(stack).is_some_and(|spent| spent * PART > self.events)
    }
}

/// A search.
pub struct Explorer {
    source: Rng,
    /// The only stack beside `none`, if the search is against one.
    against: Option<String>,
    corpus: BTreeMap<Kind, Vec<Kept>>,
    /// What each kind has had: the next step is for the kind with the fewest events per stack.
    shares: BTreeMap<Kind, Share>,
    new: Vec<News>,
    features: BTreeSet<u64>,
    /// The named states that were reached.
    pub states: BTreeSet<String>,
    /// The findings, by what tells them apart.
    pub findings: BTreeMap<Key, Finding>,
    /// Known defects that were met, by their place in [`DEFECTS`]: at which step, and the case that showed it.
    pub known: BTreeMap<usize, (u64, Case)>,
    /// Cells that could not be played, each kind once.
    pub faults: BTreeMap<String, Case>,
    /// Steps taken.
    pub steps: u64,
    /// Cells played.
    pub cells: u64,
}

impl Explorer {
    /// A search from nothing: under every stack of an agent's matrix, or against this one alone.
    pub fn new(seed: u64, against: Option<String>) -> Explorer {
        Explorer {
            source: rng(seed),
            against,
            corpus: BTreeMap::new(),
            shares: Kind::all().into_iter().map(|kind| (kind, Share::default())).collect(),
            new: Vec::new(),
            features: BTreeSet::new(),
            states: BTreeSet::new(),
            findings: BTreeMap::new(),
            known: BTreeMap::new(),
            faults: BTreeMap::new(),
            steps: 0,
            cells: 0,
        }
    }

    /// Plays one scenario.
    pub fn step(&mut self) {
        self.steps += 1;
        let kind = self.shares.iter().min_by_key(|(_, share)| share.each()).map_or(Kind::PROGRAM, |(kind, _)| *kind);
        let (case, patient_every) = match self.take_up(kind) {
            Some((old, other)) if !self.source.one_in(FRESH_EVERY) => {
                let every = if old.given_up { PATIENT_BEHIND } else { PATIENT_EVERY };
                (changed(&mut self.source, &old.scenario, &old.observed, &other), every)
            }
            _ => (fresh(&mut self.source, kind), PATIENT_EVERY),
        };
        self.shares.entry(kind).or_default().spend(NONE, EVENTS_STEP);
        let steps = if self.source.one_in(patient_every) { STEPS_PATIENT } else { STEPS };
        self.play(case, steps);
    }

    /// What was kept since the last call, for the searches that run beside this one.
    pub fn take_new(&mut self) -> Vec<News> {
        std::mem::take(&mut self.new)
    }

    /// Takes what another search kept.
    pub fn absorb(&mut self, news: &[News]) {
        for news in news {
            self.keep(news.clone(), 1, 0);
        }
    }

    /// The size of what is kept.
    pub fn corpus_len(&self) -> usize {
        self.corpus.values().map(Vec::len).sum()
    }

    /// A kept scenario of this kind: of a few, the one that gave most relative to its cost and to how often it was
    /// taken up. What it gave counts by its magnitude, since to the first of a kind everything is new. And any other
    /// scenario, to take parts from.
    fn take_up(&mut self, kind: Kind) -> Option<(News, Scenario)> {
        let kept = self.corpus.get_mut(&kind).filter(|kept| !kept.is_empty())?;
        let places = self.source.some(LOOKED_AT, LOOKED_AT, |s| s.below(kept.len()));
        let worth = |place: &usize| {
            let kept = &kept[*place];
            1_000 * (1 + kept.gave.max(1).ilog2() as usize) / (1 + kept.taken + kept.events / EVENTS_DEAR)
        };
        let best = places.into_iter().max_by_key(worth)?;
        kept[best].taken += 1;
        let old = kept[best].news.clone();
        let kinds: Vec<Kind> = self.corpus.keys().copied().collect();
        let kind = if self.source.one_in(2) { kind } else { self.source.pick(&kinds) };
        let others = self.corpus.get(&kind)?;
        let other = others.get(self.source.below(others.len()))?.news.scenario.clone();
        Some((old, other))
    }

    /// Plays a scenario under all its stacks, for at most this many steps each.
    fn play(&mut self, case: Case, steps: u64) {
        let before = self.features.len();
        let none = match case.play_within(NONE, Span::ZERO, None, steps) {
            Ok(none) => none,
            Err(fault) => {
                self.faults.entry(fault.to_string()).or_insert(case);
                return;
            }
        };
        self.cells += 1;
        let kind = Kind::of(&case.scenario.agent);
        self.shares.entry(kind).or_default().spend(NONE, none.trace.events.len());
        // a cell that was given up shows nothing, and neither does one that is judged beside it
        if is_given_up(&none.verdict) {
            return;
        }
        cover::path(case.scenario.agent.kind().word, &none.trace, &mut self.features);
        let (size, mut events) = (case.size(), none.trace.events.len());
        let (mut observed, mut given_up) = (Observed::default(), false);
        observed.take(&none.trace);
        let healthy = Span(none.verdict.virtual_ms());
        let healthy = if none.verdict.outcome.word() == "completed" { healthy } else { Span::ZERO };
        let idle = !asks(&none.trace) && !self.source.one_in(IDLE_EVERY);
        let mut shown = Shown { none, under: None };
        self.look(&case, NONE, &shown);
        for stack in stacks(&case.scenario.agent, self.against.as_deref()) {
            let acts_on_asks = ACT_ON_ASKS.iter().any(|name| rehang_strategy::spec::covers(name, &stack));
            let is_over = self.shares.get(&kind).is_some_and(|share| share.is_over(&stack));
            if stack == NONE || is_over || (idle && acts_on_asks && self.against.is_none()) {
                continue;
            }
            let played = match case.play_within(&stack, healthy, Some(&shown.none.verdict), steps) {
                Ok(played) => played,
                Err(fault) => {
                    self.faults.entry(fault.to_string()).or_insert_with(|| Case { stack, ..case.clone() });
                    continue;
                }
            };
            self.cells += 1;
            events += played.trace.events.len();
            self.shares.entry(kind).or_default().spend(&stack, played.trace.events.len());
            cover::done(&stack, &played.trace, &mut self.features);
            observed.take(&played.trace);
            if is_given_up(&played.verdict) {
                given_up = true;
                continue;
            }
            shown.under = Some(played);
            self.look(&case, &stack, &shown);
            self.look_for_findings(&case, size, &stack, &shown);
        }
        let gave = self.features.len() - before;
        if gave > 0 {
            let news = News { scenario: case.scenario, observed, given_up };
            self.new.push(news.clone());
            self.keep(news, gave, events);
        }
    }

    fn keep(&mut self, news: News, gave: usize, events: usize) {
        let all = self.corpus.entry(Kind::of(&news.scenario.agent)).or_default();
        let kept = Kept { news, gave, taken: 0, events };
        match all.len() < CORPUS_MAX {
            true => all.push(kept),
            false => {
                let place = self.source.below(CORPUS_MAX);
                all[place] = kept;
            }
        }
    }

    /// What a cell reached, and which known defects it shows.
    fn look(&mut self, case: &Case, stack: &str, shown: &Shown) {
        let played = shown.played();
        cover::reached(stack, &played.verdict, &played.trace, &mut self.features, &mut self.states);
        for (place, defect) in DEFECTS.iter().enumerate() {
            if !self.known.contains_key(&place) && defect.shown_by(&case.scenario, stack, shown) {
                let case = Case { stack: stack.to_owned(), ..case.clone() };
                self.known.insert(place, (self.steps, case));
            }
        }
    }

    fn look_for_findings(&mut self, case: &Case, size: usize, stack: &str, shown: &Shown) {
        let before = shown.none.verdict.broken();
        let verdict = shown.verdict();
        let mut seen = BTreeSet::new();
        for breach in verdict.breaches.iter().filter(|breach| !before.contains(&breach.invariant)) {
            let key = Key::new(stack, breach.invariant, cause(&breach.why, stack));
            if !seen.insert(key.clone()) {
                continue;
            }
            self.find(case, size, stack, key, breach.why.clone());
        }
        if let Some((on, why)) = self.against.as_ref().and_then(|_| missed(stack, shown)) {
            self.find(case, size, stack, Key::missed(stack, on), why);
        }
    }

    fn find(&mut self, case: &Case, size: usize, stack: &str, key: Key, why: String) {
        let new = Finding {
            case: Case { stack: stack.to_owned(), ..case.clone() },
            property: key.property.clone(),
            why,
            stacks: [stack.to_owned()].into(),
            step: self.steps,
            met: 1,
            size,
        };
        match self.findings.get_mut(&key) {
            Some(finding) => finding.join(new),
            None => drop(self.findings.insert(key, new)),
        }
    }
}

/// The stacks of an agent's cells: its matrix, or `none` and the one that the search is against.
pub fn stacks(agent: &Agent, against: Option<&str>) -> Vec<String> {
    let Some(against) = against else { return rehang_strategy::matrix(&agent.wires()) };
    let fits = rehang_strategy::stack(against).is_ok_and(|stack| stack.seat_in(&agent.wires()).is_ok());
    [NONE].into_iter().chain(fits.then_some(against)).map(str::to_owned).collect()
}

/// Whether a question's tool is called, or anything is asked.
fn asks(trace: &Trace) -> bool {
    let question = |tool: &str| ["question", "askuserquestion"].contains(&tool.to_ascii_lowercase().as_str());
    trace.events.iter().any(|event| match &event.what {
        What::Fact(Fact::Asked { .. }) => true,
        What::Fact(Fact::ToolBegan { tool, .. }) => question(tool),
        _ => false,
    })
}

fn is_given_up(verdict: &Verdict) -> bool {
    verdict.outcome.is_undecided()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Property;
    use rehang_scenario::{load, to_toml};

    #[test]
    fn a_search_against_one_stack_plays_that_one_and_finds_what_it_misses() {
        let mut explorer = Explorer::new(7, Some("wall(cap=0ms)".to_owned()));
        (0..20).for_each(|_| explorer.step());
        assert!(explorer.findings.values().all(|finding| finding.stacks == ["wall(cap=0ms)".to_owned()].into()));
        assert!(explorer.findings.keys().any(|key| matches!(key.property, Property::Hangs(Some(_)))));
        assert!(explorer.cells <= 2 * explorer.steps);
    }

    #[test]
    fn a_search_finds_what_it_then_shows_and_finds_the_same_again() {
        let search = || {
            let mut explorer = Explorer::new(7, None);
            (0..30).for_each(|_| explorer.step());
            explorer
        };
        let (first, again) = (search(), search());
        assert!(!first.findings.is_empty() && !first.known.is_empty());
        assert!(first.faults.is_empty(), "{:?}", first.faults.keys());
        let all = cover::universe();
        let unknown: Vec<&String> = first.states.difference(&all).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        for (key, finding) in &first.findings {
            assert!(key.shown_by(&finding.case), "{}", finding.why);
            let text = to_toml(&finding.case.scenario, None);
            assert!(load("finding.toml", text.as_bytes()).into_result().is_ok(), "{text}");
        }
        assert_eq!(first.known, again.known);
        assert_eq!(first.states, again.states);
        assert_eq!(first.findings.keys().collect::<Vec<_>>(), again.findings.keys().collect::<Vec<_>>());
    }
}
