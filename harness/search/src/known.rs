//! The known defects of the seed systems, as a search would meet them.
//!
//! Each is a predicate over one played case: which stack, what it breaks, and what of the scenario tells this defect
//! from its neighbours. The section is that of the seed research, where the defect was run or read in the source.
//!
//! Invariant: a predicate looks at verdict, trace and scenario alone, never at how they were found.

use crate::case::Shown;
use rehang_judge::trace::{Fact, What};
use rehang_judge::{Outcome, Verdict};
use rehang_scenario::turns::{Step, Turn};
use rehang_scenario::{Does, Fault, Invariant, PostDoes, ProcessDoes, QueueFault, Scenario, Span, VTime};

/// A defect that a version is known to have.
#[derive(Debug)]
pub struct Defect {
    /// The section of the seed research.
    pub section: &'static str,
    /// The stack that has it; without a version all of them.
    pub stack: &'static str,
    /// What it does wrong.
    pub what: &'static str,
    shows: fn(&Look<'_>) -> bool,
}

/// What a predicate looks at.
#[derive(Clone, Copy)]
struct Look<'a> {
    scenario: &'a Scenario,
    shown: &'a Shown,
}

impl Defect {
    /// Whether a played case shows it.
    pub fn shown_by(&self, scenario: &Scenario, stack: &str, shown: &Shown) -> bool {
        rehang_strategy::spec::covers(self.stack, stack) && (self.shows)(&Look { scenario, shown })
    }
}

macro_rules! defects {
    ($($section:literal $stack:literal $what:literal $shows:expr;)*) => {
        /// All of them, in the order of the sections.
        pub const DEFECTS: &[Defect] =
            &[$(Defect { section: $section, stack: $stack, what: $what, shows: $shows }),*];
    };
}

use Invariant::{
    AskWithoutEnd, DoubleOrInventedReply, Harm, LeftBehind, OutOfBounds, RejectedWithoutCause, Unfinished, UntrueReport,
};

defects! {
    "0.1" "none" "an aborted ask stays listed" |l| l.breaks(AskWithoutEnd);
    "0.4" "none" "run waits for the end of a stdin that nobody closes" |l| l.hung_on("stdin");
    "0.4" "none" "run does not see a question" |l| l.hung_on("question") && l.no_bash();
    "0.4" "none" "run does not see a subagent's ask" |l| l.hung_on("permission") && l.child_asks();
    "1.1" "auto-answer@r1" "finds \"no\" inside a label" |l| l.breaks(DoubleOrInventedReply) && l.no_in_a_word();
    "1.1" "auto-answer@r1" "invents an answer" |l| l.breaks(DoubleOrInventedReply);
    "1.1" "auto-answer@r1" "answers though somebody would" |l| l.breaks(Harm);
    "1.1" "auto-answer@r2" "answers though somebody would" |l| l.breaks(Harm);
    "1.1" "auto-answer@r2" "says in one breath that nobody answered and that they did" |l| l.breaks(UntrueReport);
    "1.1" "auto-answer@r3" "says that no user was available though an answer was preset" |l| l.breaks(UntrueReport);
    "2.5a" "watcher@pr3" "takes a `tool-calls` step for the end" |l| l.breaks(Unfinished);
    "2.5a" "heal@pr3" "takes a `tool-calls` step for the end" |l| l.breaks(Unfinished);
    "2.5b" "watcher@pr5" "is blinded by a child that has nothing to do with it" |l| l.hung() && l.sees_children();
    "2.5c" "watcher@pr3" "waits four hours for a server that is gone" |l| l.crashes() && l.ends_after(Span::hours(4));
    "2.5d" "watcher@pr3" "tells a refused prompt when idle fires" |l| l.refused() && l.ends_after(Span::mins(15));
    "2.5e" "heal@pr3" "calls a running job failed when its worker is dead" |l| l.breaks(Harm) && l.worker_dies();
    "2.5f" "heal@pr3" "never heals a job that is queued" |l| l.hung() && l.held_in_the_queue();
    "2.5g" "watcher@pr3" "tells the cut of the POST for the cause" |l| l.breaks(UntrueReport);
    "2.5h" "watcher@pr5" "reports another idle limit than it has" |l| l.breaks(UntrueReport);
    "2.5i" "watcher@pr3" "kills a long bash that streams its output" |l| l.breaks(Harm) && l.has_bash();
    "2.5j" "watcher@pr3" "cuts off a person who answers" |l| l.breaks(Harm) && l.answers();
    "3.4a" "idle@f54b32f" "kills a silent tool" |l| l.breaks(Harm);
    "3.4b" "idle@off" "reads one line a wake-up: an end that was there is not seen" |l| l.breaks(UntrueReport);
    "3.4c" "idle@f54b32f" "half a line stops both clocks" |l| l.breaks(OutOfBounds) && l.half_a_line();
    "3.4d" "idle@f54b32f" "waits for ever for a child that has closed its pipes" |l| l.closes_output() && l.hung();
    "3.4f" "idle@f54b32f" "noise on stderr defeats idle" |l| l.noise() && l.ends_after(Span::mins(59));
    "3.4g" "idle@f54b32f" "leaves grandchildren behind" |l| l.breaks(LeftBehind);
    "4.5" "auto-approve@v1" "approves a failing bash" |l| l.breaks(DoubleOrInventedReply) && l.has_bash();
    "4.5" "auto-approve@v1" "approves a question" |l| l.breaks(DoubleOrInventedReply) && l.no_bash();
    "4.5" "auto-approve@v2" "approves a failing bash" |l| l.breaks(DoubleOrInventedReply) && l.has_bash();
    "5.2" "blind-timeout" "silence rejects a question" |l| l.breaks(RejectedWithoutCause);
    "5.2" "blind-timeout" "an aborted stream drains as a success" |l| l.breaks(Unfinished);
    "5.1" "ledger@v0" "a malformed reply loses the question" |l| l.malformed() && l.breaks(Harm);
    "5.4" "recovery@430" "the recovery becomes the killer" |l| l.breaks(RejectedWithoutCause);
    "5.7" "ledger@v0" "a child's question does not pause its parent's clock" |l| l.breaks(RejectedWithoutCause) && l.child_asks();
    "5.7" "ledger@v0" "a permission does not pause the clock" |l| l.kills() && l.asks_permission();
}

impl Look<'_> {
    fn verdict(&self) -> &Verdict {
        self.shown.verdict()
    }

    /// Breaks what `none` does not break here.
    fn breaks(&self, invariant: Invariant) -> bool {
        let before = self.shown.under.is_some() && self.shown.none.verdict.broken().contains(&invariant);
        self.verdict().broken().contains(&invariant) && !before
    }

    fn hung(&self) -> bool {
        self.verdict().outcome.is_hung()
    }

    fn hung_on(&self, what: &str) -> bool {
        matches!(&self.verdict().outcome, Outcome::Hung { blocked_on, .. } if blocked_on == what)
    }

    /// Stops a run that completes alone.
    fn kills(&self) -> bool {
        self.breaks(Harm) || (self.verdict().killed.is_some() && self.shown.none.verdict.outcome.word() == "completed")
    }

    fn ends_after(&self, span: Span) -> bool {
        !self.hung() && self.verdict().ended.since(VTime::ZERO) >= span
    }

    fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.shown.played().trace.events.iter().filter_map(|event| match &event.what {
            What::Fact(fact) => Some(fact),
            _ => None,
        })
    }

    /// A session that has a parent asks.
    fn child_asks(&self) -> bool {
        let mut children = Vec::new();
        self.facts().any(|fact| match fact {
            Fact::Session { id, parent } if !parent.is_empty() => {
                children.push(id.clone());
                false
            }
            Fact::Asked { session, .. } => children.contains(session),
            _ => false,
        })
    }

    fn asks_permission(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Asked { permission, .. } if !permission.is_empty()))
    }

    /// A label was chosen for a "no" that is only a part of a word of it.
    fn no_in_a_word(&self) -> bool {
        let whole =
            |label: &str| label.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("no"));
        self.facts().any(|fact| match fact {
            Fact::Preempted { answers, .. } | Fact::AskEnded { answers, .. } => {
                answers.iter().flatten().any(|label| label.to_lowercase().contains("no") && !whole(label))
            }
            _ => false,
        })
    }

    fn sees_children(&self) -> bool {
        let saw = |what: &What| matches!(what, What::Looked { at, saw } if at == "children" && saw.as_u64() > Some(0));
        self.shown.played().trace.events.iter().any(|event| saw(&event.what))
    }

    fn fault(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.scenario.faults.iter().any(is)
    }

    fn crashes(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Process(p) if p.does == ProcessDoes::Crash && p.role == "agent"))
    }

    fn refused(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Post(p) if matches!(p.does, PostDoes::Status(_))))
    }

    fn worker_dies(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Worker(_)))
    }

    fn held_in_the_queue(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Queue(QueueFault::Holds)))
    }

    fn answers(&self) -> bool {
        self.scenario
            .people
            .iter()
            .any(|p| matches!(p.does, Does::Answer(_) | Does::Answers(_) | Does::Allow | Does::Always))
    }

    fn malformed(&self) -> bool {
        self.scenario.people.iter().any(|p| matches!(p.does, Does::Malformed(_) | Does::Answers(_)))
    }

    fn has_bash(&self) -> bool {
        has_bash(&self.scenario.turns)
    }

    fn no_bash(&self) -> bool {
        !self.has_bash()
    }

    fn step(&self, is: &dyn Fn(&Step) -> bool) -> bool {
        matches!(&self.scenario.agent, rehang_scenario::Agent::Program(steps) if steps.iter().any(is))
    }

    fn half_a_line(&self) -> bool {
        self.step(&|step| matches!(step, Step::Prompt(_)))
    }

    fn closes_output(&self) -> bool {
        self.step(&|step| matches!(step, Step::CloseOutput))
    }

    fn noise(&self) -> bool {
        self.step(&|step| matches!(step, Step::Every(every) if every.stderr))
    }
}

fn has_bash(turns: &[Turn]) -> bool {
    turns.iter().any(|turn| match turn {
        Turn::Bash(_) => true,
        Turn::Task(task) => has_bash(&task.turns),
        Turn::Together(calls) => has_bash(calls),
        _ => false,
    })
}
