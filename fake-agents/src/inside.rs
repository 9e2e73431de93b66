//! The seat inside an agent: hosts the strategies that sit at the tool boundary, the ask layer and the model stream.
//!
//! A persona tells the host what is seen and executes the acts that come back, in order; [`noted`] says which fact
//! an act is. Invariant: strategies are told in the order of the stack, and each act keeps its strategy's name.

use crate::plan::{PLAN_ENV, Plan};
use rehang_scenario::{Agent, Canon, VTime};
use rehang_strategy::{Act, Seen, Strategy, stack};
use rehang_trace::Fact;

/// The strategies inside one agent.
#[derive(Default)]
pub struct Inside {
    seats: Vec<Seat>,
}

struct Seat {
    name: String,
    strategy: Box<dyn Strategy>,
}

/// An act, and the strategy that acts.
#[derive(Debug, Clone, PartialEq)]
pub struct Acting {
    /// The strategy's spec (`auto-answer@r1(at=tool)`).
    pub by: String,
    /// What it does.
    pub act: Act,
}

impl Inside {
    /// The strategies of a plan, in the order of the stack.
    ///
    /// # Errors
    /// A spec that does not parse or that the catalogue does not know.
    pub fn new(specs: &[String]) -> Result<Inside, String> {
        let mut seats = Vec::with_capacity(specs.len());
        for spec in specs {
            let member = stack::member(spec).map_err(|error| error.to_string())?;
            seats.push(Seat { name: spec.clone(), strategy: member.strategy });
        }
        Ok(Inside { seats })
    }

    /// A seat for one strategy that no catalogue knows: for tests.
    pub fn with(name: &str, strategy: Box<dyn Strategy>) -> Inside {
        Inside { seats: vec![Seat { name: name.to_owned(), strategy }] }
    }

    /// What a tool's child must have in its environment, so that an agent which it starts has the same inside: it
    /// would be the same installed program. None where nobody sits here.
    pub fn for_children(&self) -> Option<(String, String)> {
        let plan = Plan {
            agent: Agent::Program(Vec::new()),
            turns: Vec::new(),
            faults: Vec::new(),
            inside: self.seats.iter().map(|seat| seat.name.clone()).collect(),
            model_port: None,
            stored: None,
        };
        let plan = (!self.is_empty()).then(|| serde_json::to_string(&plan).ok())??;
        Some((PLAN_ENV.to_owned(), plan))
    }

    /// Whether nobody sits here; then nothing needs to be told.
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// Whether a strategy of this name, in whatever version, sits here.
    pub fn has(&self, name: &str) -> bool {
        let bare = |spec: &str| spec.split(['@', '(']).next().unwrap_or("").to_owned();
        self.seats.iter().any(|seat| bare(&seat.name) == name)
    }

    /// Tells every strategy what is seen.
    pub fn see(&mut self, now: VTime, seen: &Seen) -> Vec<Acting> {
        let mut all = Vec::new();
        let mut acts = Vec::new();
        for seat in &mut self.seats {
            seat.strategy.on(now, seen, &mut acts);
            all.extend(acts.drain(..).map(|act| Acting { by: seat.name.clone(), act }));
        }
        all
    }

    /// Tells the strategies whose deadline has come that time has passed.
    pub fn tick(&mut self, now: VTime) -> Vec<Acting> {
        let mut all = Vec::new();
        let mut acts = Vec::new();
        for seat in &mut self.seats {
            if seat.strategy.deadline().is_some_and(|at| at <= now) {
                seat.strategy.on(now, &Seen::Tick, &mut acts);
                all.extend(acts.drain(..).map(|act| Acting { by: seat.name.clone(), act }));
            }
        }
        all
    }

    /// The earliest deadline of all.
    pub fn deadline(&self) -> Option<VTime> {
        self.seats.iter().filter_map(|seat| seat.strategy.deadline()).min()
    }

    /// Writes the state of all.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { seats } = self;
        canon.list(seats, |canon, Seat { name, strategy }| {
            canon.text(name);
            strategy.canon(canon);
        });
    }
}

/// The fact that an act is. An answer at the tool's entry has none here: the persona knows the call and notes
/// [`Fact::Preempted`].
pub fn noted(acting: &Acting) -> Option<Fact> {
    let act = match &acting.act {
        Act::Report(policy) => {
            return Some(Fact::Policy { strategy: acting.by.clone(), policy: policy.clone() });
        }
        Act::AnswerTool { .. } => return None,
        Act::Withhold { .. } => "withhold",
        Act::Reply { .. } => "reply",
        Act::Reject { .. } => "reject",
        Act::AbortStream { .. } => "abort-stream",
        Act::StripEnv(_) => "strip-env",
        Act::Say(_) => "say",
        Act::Note(word) => word,
        _ => return None,
    };
    Some(Fact::Acted { strategy: acting.by.clone(), act: act.to_owned() })
}
