//! Every order of a cell: runs it again and again, each time with another choice at one tie, until nothing new follows.
//!
//! The search is stateful. A run with a prefix of choices notes the ties after the prefix; where the [key](key::Key) of one
//! was seen, the run is broken off, since all that follows is being explored from there. Each other tie gives one further
//! run for each candidate that the seed would not let run. Fewest choices come first, so what a verdict depends on is
//! found with few.
//!
//! Invariants: what is found is a function of the cell and the limits. `is_whole` is only said if every choice of every
//! state was followed; otherwise some of the orders were sampled, the last of them at random.

pub mod graph;
pub mod key;
mod shrink;

use graph::{Graph, Next, Node};
pub use key::Merging;
use key::{History, Key};
use rehang_judge::score::Score;
use rehang_judge::{Outcome, Verdict, classify};
use rehang_os::sim::SimKernel;
use rehang_scenario::random::Rng;
use rehang_scenario::{Order, TieChoice, VTime};
use rehang_stage::{Job, JudgedError, Pick, Record, Setting, Tie, Watch, of_record, run, run_watched};
use std::collections::{HashMap, HashSet, VecDeque};

/// Runs of a cell after which its orders are sampled, unless a caller says otherwise.
pub const ORDERS: u32 = 3_000;
/// The part of these runs that is kept for random orders if there are more orders than runs.
const WALKS: u32 = 10;
/// The most choices of a random order.
const WALK_CHOICES: usize = 400;

/// What a search may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most runs of a cell.
    pub orders: u32,
    /// Which ties count as the same.
    pub merging: Merging,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { orders: ORDERS, merging: Merging::Judged }
    }
}

/// A cell whose orders are explored.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// What is run, with the seed whose order comes first.
    pub job: Job<'a>,
    /// What it is part of.
    pub setting: Setting<'a>,
    /// The verdicts of `none`, that of the seed's own order first; none if this cell is `none` itself.
    pub none: &'a [Verdict],
}

/// What is compared over the orders of a cell: the verdict, harm, truth and invariants, but no times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// The outcome, in a few words.
    pub outcome: String,
    /// What the strategy makes of the cell; `None` for an internal error. If verdicts of `none` depend on the order too,
    /// that one counts beside which the strategy does best.
    pub score: Option<Score>,
    /// The broken invariants.
    pub broken: Vec<&'static str>,
}

impl Class {
    fn of(verdict: &Verdict, none: Option<&Verdict>) -> Class {
        let outcome = match &verdict.outcome {
            Outcome::Completed => "completed".to_owned(),
            Outcome::Stopped { cause } => format!("stopped by {cause}"),
            // the texts of errors differ in what counts up
            Outcome::Failed { .. } => "failed".to_owned(),
            Outcome::Hung { blocked_on, .. } => format!("hung on {blocked_on}"),
            Outcome::Undecided { .. } => "undecided".to_owned(),
        };
        let score = Some(classify(verdict, none.unwrap_or(verdict)));
        Class { outcome, score, broken: verdict.broken().iter().map(|invariant| invariant.name()).collect() }
    }

    /// How much a strategy is to blame for it.
    fn blame(&self) -> (usize, Option<Score>) {
        (self.broken.len(), self.score)
    }

    fn of_error(error: &JudgedError) -> Class {
        Class { outcome: format!("internal error: {error}"), score: None, broken: Vec::new() }
    }
}

/// What some orders of a cell have in common.
#[derive(Debug, Clone)]
pub struct Found {
    /// What is compared.
    pub class: Class,
    /// One of the orders: the first that was run, made small.
    pub order: Order,
    /// What its choices are: who runs at which tie.
    pub picks: Vec<Picked>,
    /// The verdict under it; `None` for an internal error.
    pub verdict: Option<Verdict>,
}

/// A choice of an order, with the tie at which it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// The choice.
    pub choice: TieChoice,
    /// The step of the cell, from 1.
    pub step: u64,
    /// The virtual time of the tie.
    pub at: VTime,
    /// The candidates, in the seed's order.
    pub candidates: Vec<String>,
}

impl Picked {
    /// Who runs, and who would run without the choice.
    pub fn who(&self) -> Option<(&str, &str)> {
        let picked = self.candidates.get(usize::from(self.choice.pick).checked_sub(1)?)?;
        Some((picked, self.candidates.first()?))
    }
}

/// From when on a hang cannot be avoided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inevitable {
    /// Every order hangs.
    FromTheStart,
    /// After this tie of the seed's own order every continuation hangs.
    After {
        /// The tie's ordinal.
        tie: u32,
        /// Its virtual time.
        at: VTime,
        /// How many events there are before it.
        events: usize,
    },
}

/// What the orders of a cell gave.
#[derive(Debug)]
pub struct Explored {
    /// How many runs there were, those that were broken off included.
    pub orders: u32,
    /// How many states at ties were seen.
    pub states: usize,
    /// What differs, that of the seed's own order first.
    pub found: Vec<Found>,
    /// Whether every order was followed.
    pub is_whole: bool,
    /// How many orders there are about, without merging (Knuth's estimate), if not every one was followed.
    pub about: Option<f64>,
    /// The earliest and the latest end.
    pub ends: (VTime, VTime),
    /// From when on the hang of the seed's own order cannot be avoided, if it hangs and every order was followed.
    pub inevitable: Option<Inevitable>,
    /// Verdicts with which a strategy's can be compared, if this is `none`: each kind once.
    pub verdicts: Vec<Verdict>,
}

/// The most verdicts of `none` that a strategy's are compared with.
const VERDICTS: usize = 8;

/// A run that is still to be made.
struct Pending {
    /// The choices before the last one: those of this earlier run.
    of: usize,
    choice: TieChoice,
    from: Node,
}

/// Explores the orders of a cell on the simulated kernel.
pub fn explore(cell: &Cell<'_>, limits: Limits) -> Explored {
    let mut search = Search::new(cell, limits);
    search.first();
    let walks = limits.orders / WALKS;
    while let Some(next) = search.pending.pop_front() {
        if search.runs >= limits.orders.saturating_sub(walks) {
            search.pending.push_front(next);
            break;
        }
        let order = search.orders[next.of].then(next.choice).unwrap_or_else(|_| search.orders[next.of].clone());
        search.run(order, Some((next.from, next.choice)));
    }
    let is_whole = search.pending.is_empty();
    let about = (!is_whole).then(|| search.walk(walks.max(1)));
    search.finish(is_whole, about)
}

struct Search<'a> {
    cell: &'a Cell<'a>,
    limits: Limits,
    seen: HashMap<Key, Node>,
    graph: Graph,
    pending: VecDeque<Pending>,
    /// The orders that were run.
    orders: Vec<Order>,
    runs: u32,
    found: Vec<Found>,
    /// The ties of the first run.
    path: Vec<Met>,
    ends: Option<(VTime, VTime)>,
    verdicts: Vec<Verdict>,
}

impl<'a> Search<'a> {
    fn new(cell: &'a Cell<'a>, limits: Limits) -> Search<'a> {
        Search {
            cell,
            limits,
            seen: HashMap::new(),
            graph: Graph::default(),
            pending: VecDeque::new(),
            orders: Vec::new(),
            runs: 0,
            found: Vec::new(),
            path: Vec::new(),
            ends: None,
            verdicts: Vec::new(),
        }
    }

    fn first(&mut self) {
        self.path = self.run(Order::from(self.cell.job.seed), None);
    }

    /// Runs one order, and notes what follows from each of its new ties. Returns these.
    fn run(&mut self, order: Order, from: Option<(Node, TieChoice)>) -> Vec<Met> {
        self.runs += 1;
        let mut branch = Branch {
            choices: order.choices(),
            made: 0,
            after: from.map_or(0, |(_, choice)| choice.tie),
            merging: self.limits.merging,
            seen: &mut self.seen,
            graph: &mut self.graph,
            own: HashSet::new(),
            history: History::new(self.limits.merging),
            path: Vec::new(),
            joined: None,
        };
        let record = run_watched(&mut SimKernel::new(rehang_fakes::program), &self.cell.job, &mut branch);
        let Branch { path, joined, .. } = branch;
        let nodes = from.map(|(node, _)| node).into_iter().chain(path.iter().map(|tie| tie.node));
        let nodes: Vec<Node> = nodes.collect();
        for pair in nodes.windows(2) {
            self.graph.follows(pair[0], Next::Tie(pair[1]));
        }
        let next = match joined {
            Some(node) => Next::Tie(node),
            None => Next::End { hangs: self.take(&order, record.map_err(JudgedError::from)) },
        };
        if let Some(&last) = nodes.last() {
            self.graph.follows(last, next);
        }
        let of = self.orders.len();
        self.orders.push(order);
        for tie in path.iter().filter(|tie| tie.is_new) {
            for pick in 2..=tie.candidates {
                self.pending.push_back(Pending { of, choice: TieChoice { tie: tie.ordinal, pick }, from: tie.node });
            }
        }
        path
    }

    /// Notes the result of an order that came to its end; whether it is a hang.
    fn take(&mut self, order: &Order, record: Result<Option<Record>, JudgedError>) -> bool {
        let (class, verdict) = self.judged(order, record);
        if let Some(verdict) = &verdict {
            let (first, last) = self.ends.unwrap_or((verdict.ended, verdict.ended));
            self.ends = Some((first.min(verdict.ended), last.max(verdict.ended)));
            let is_known = |known: &Verdict| {
                known.outcome.word() == verdict.outcome.word() && known.transcript == verdict.transcript
            };
            if self.verdicts.len() < VERDICTS && !self.verdicts.iter().any(is_known) {
                self.verdicts.push(verdict.clone());
            }
        }
        let hangs = verdict.as_ref().is_some_and(|verdict| verdict.outcome.is_hung());
        if !self.found.iter().any(|found| found.class == class) {
            self.found.push(Found { class, order: order.clone(), picks: Vec::new(), verdict });
        }
        hangs
    }

    fn judged(&self, order: &Order, record: Result<Option<Record>, JudgedError>) -> (Class, Option<Verdict>) {
        let Cell { job, setting, none } = self.cell;
        let job = &Job { choices: order.choices(), ..*job };
        let record = match record {
            Ok(Some(record)) => record,
            Ok(None) => return (Class { outcome: String::new(), score: None, broken: Vec::new() }, None),
            Err(error) => return (Class::of_error(&error), None),
        };
        // what the order makes of the cell without the strategy is not the strategy's doing: the best comparison counts
        let beside = |none: Option<&Verdict>| {
            let verdict = of_record(record.clone(), job, setting, none)?.verdict;
            Ok::<_, JudgedError>((Class::of(&verdict, none), verdict))
        };
        let mut best = beside(none.first());
        for other in none.iter().skip(1) {
            match (&best, beside(Some(other))) {
                (Ok((class, _)), _) if class.broken.is_empty() && class.score <= Some(Score::Stopped) => break,
                (Ok((class, _)), Ok(less)) if less.0.blame() < class.blame() => best = Ok(less),
                _ => {}
            }
        }
        match best {
            Ok((class, verdict)) => (class, Some(verdict)),
            Err(error) => (Class::of_error(&error), None),
        }
    }

    /// Runs random orders; about how many orders there are.
    fn walk(&mut self, walks: u32) -> f64 {
        let ties = self.path.last().map_or(0, |tie| tie.ordinal);
        let mut rng = Rng::new(self.cell.job.seed);
        let mut estimates = 0.0;
        for _ in 0..walks {
            let mut walk = Walk { rng: &mut rng, ties, orders: 1.0, choices: Vec::new() };
            let record = run_watched(&mut SimKernel::new(rehang_fakes::program), &self.cell.job, &mut walk);
            let Walk { orders, choices, .. } = walk;
            estimates += orders;
            self.runs += 1;
            let plain = Order::from(self.cell.job.seed);
            let order = choices.into_iter().fold(plain, |order, choice| order.then(choice).unwrap_or(order));
            self.take(&order, record.map_err(JudgedError::from));
        }
        estimates / f64::from(walks)
    }

    fn finish(mut self, is_whole: bool, about: Option<f64>) -> Explored {
        let found = std::mem::take(&mut self.found);
        let found: Vec<Found> =
            found.into_iter().enumerate().map(|(at, found)| if at == 0 { found } else { self.small(found) }).collect();
        let hangs = found.first().and_then(|first| first.verdict.as_ref()).is_some_and(|v| v.outcome.is_hung());
        let inevitable = (is_whole && hangs).then(|| self.inevitable());
        Explored {
            orders: self.runs,
            states: self.graph.len(),
            found,
            is_whole,
            about,
            ends: self.ends.unwrap_or_default(),
            inevitable,
            verdicts: self.verdicts,
        }
    }

    /// From when on every continuation of the first order hangs.
    fn inevitable(&self) -> Inevitable {
        let escapes = self.graph.escapes();
        match self.path.iter().rfind(|tie| escapes[tie.node]) {
            Some(tie) => Inevitable::After { tie: tie.ordinal, at: tie.at, events: tie.events },
            None => Inevitable::FromTheStart,
        }
    }

    /// The same class with fewer choices.
    fn small(&self, found: Found) -> Found {
        let mut verdict = found.verdict;
        let order = shrink::smallest(found.order, |order| {
            let job = Job { choices: order.choices(), ..self.cell.job };
            let record = run(&mut SimKernel::new(rehang_fakes::program), &job);
            let (class, again) = self.judged(order, record.map(Some).map_err(JudgedError::from));
            let is_same = class == found.class;
            if is_same {
                verdict = again;
            }
            is_same
        });
        let mut follow = Follow { choices: order.choices(), picks: Vec::new() };
        // its result is known
        let _ = run_watched(&mut SimKernel::new(rehang_fakes::program), &self.cell.job, &mut follow);
        let picks = follow.picks;
        Found { class: found.class, order, picks, verdict }
    }
}

/// A tie after the choices of a run.
struct Met {
    node: Node,
    ordinal: u32,
    at: VTime,
    candidates: u16,
    events: usize,
    is_new: bool,
}

/// Watches a run with some choices: after them, the seed decides.
struct Branch<'a> {
    choices: &'a [TieChoice],
    made: usize,
    /// The tie of the last choice.
    after: u32,
    merging: Merging,
    seen: &'a mut HashMap<Key, Node>,
    graph: &'a mut Graph,
    /// The states of this run: coming to one again is a cycle, which the run goes on with until it is proved.
    own: HashSet<Key>,
    history: History,
    path: Vec<Met>,
    /// The state, seen in an earlier run, at which this one was broken off.
    joined: Option<Node>,
}

impl Watch for Branch<'_> {
    fn wants_state(&self, ordinal: u32) -> bool {
        self.merging != Merging::Never && ordinal > self.after
    }

    fn pick(&mut self, tie: &Tie<'_>) -> Pick {
        if let Some(choice) = self.choices.get(self.made).filter(|choice| choice.tie == tie.ordinal) {
            self.made += 1;
            return Pick::Candidate(usize::from(choice.pick) - 1);
        }
        if tie.ordinal <= self.after {
            return Pick::Candidate(0);
        }
        let key = self.history.key(tie);
        let known = key.and_then(|key| self.seen.get(&key).copied());
        if let (Some(node), Some(key)) = (known, key)
            && !self.own.contains(&key)
        {
            self.joined = Some(node);
            return Pick::Cut;
        }
        let node = known.unwrap_or_else(|| self.graph.add());
        if let Some(key) = key {
            self.seen.insert(key, node);
            self.own.insert(key);
        }
        let candidates = u16::try_from(tie.candidates.len()).unwrap_or(u16::MAX);
        let (ordinal, at, events, is_new) = (tie.ordinal, tie.now, tie.events.len(), known.is_none());
        self.path.push(Met { node, ordinal, at, candidates, events, is_new });
        Pick::Candidate(0)
    }
}

/// Follows an order, and notes the ties of its choices.
struct Follow<'a> {
    choices: &'a [TieChoice],
    picks: Vec<Picked>,
}

impl Watch for Follow<'_> {
    fn wants_state(&self, _: u32) -> bool {
        false
    }

    fn pick(&mut self, tie: &Tie<'_>) -> Pick {
        let Some(&choice) = self.choices.get(self.picks.len()).filter(|choice| choice.tie == tie.ordinal) else {
            return Pick::Candidate(0);
        };
        let (step, at, candidates) = (tie.step, tie.now, tie.candidates.to_vec());
        self.picks.push(Picked { choice, step, at, candidates });
        Pick::Candidate(usize::from(choice.pick) - 1)
    }
}

/// Picks at random, as long as the seed's own order has ties; after that the seed decides, so that a hang can be proved.
struct Walk<'a> {
    rng: &'a mut Rng,
    ties: u32,
    orders: f64,
    choices: Vec<TieChoice>,
}

impl Watch for Walk<'_> {
    fn wants_state(&self, _: u32) -> bool {
        false
    }

    fn pick(&mut self, tie: &Tie<'_>) -> Pick {
        if tie.ordinal > self.ties || self.choices.len() >= WALK_CHOICES {
            return Pick::Candidate(0);
        }
        self.orders *= tie.candidates.len() as f64;
        let at = self.rng.below(tie.candidates.len());
        if let Some(pick) = u16::try_from(at + 1).ok().filter(|pick| *pick > 1) {
            self.choices.push(TieChoice { tie: tie.ordinal, pick });
        }
        Pick::Candidate(at)
    }
}
