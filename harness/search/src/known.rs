//! The known defects of the seed systems, as a search would meet them.
//!
//! Each is a predicate over one played case: which stack, what it breaks, and which part of the scenario tells this
//! defect from similar ones. The section is that of the seed research, where the defect was run or read in the source.
//!
//! Invariant: a predicate looks at verdict, trace and scenario alone, never at how they were found.

use crate::case::Shown;
use rehang_judge::{Outcome, Verdict, verdict::AskRow};
use rehang_scenario::{
    Fault, Form, Invariant, PostDoes, ProcessDoes, Scenario, Span, ToolDoes, VTime, WorkerFault,
    turns::{Step, Turn},
};
use rehang_trace::{AskEnd, AskKind, Cause, Fact, What, role::Role};
use std::collections::BTreeSet;

/// A defect that a version is known to have.
#[derive(Debug)]
pub struct Defect {
    /// The section of the seed research.
    pub section: &'static str,
    /// The stack that has it; without a version all of them.
    pub stack: &'static str,
    /// What it does wrong.
    pub what: &'static str,
    /// A scenario that was written by hand and shows it: its file below `scenarios/`, without `.toml`.
    pub file: &'static str,
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
        self.is_of(stack) && (self.shows)(&Look { scenario, shown })
    }

    /// Whether a stack is of those that have it.
    pub fn is_of(&self, stack: &str) -> bool {
        rehang_strategy::spec::covers(self.stack, stack)
    }
}

macro_rules! defects {
    ($($section:literal $stack:literal $file:literal $what:literal $shows:expr;)*) => {
        /// All of them, in the order of the sections.
        pub const DEFECTS: &[Defect] =
            &[$(Defect { section: $section, stack: $stack, what: $what, file: $file, shows: $shows }),*];
    };
}

use Invariant::{
    AskWithoutEnd, DoubleOrInventedReply, Harm, LeftBehind, OutOfBounds, RejectedWithoutCause, Unfinished, UntrueReport,
};

defects! {
    "0.1" "none" "upstream/abort-while-asking" "an aborted ask stays listed"
        |l| l.breaks(AskWithoutEnd);
    "0.4" "none" "altimate/stdin" "run waits for the end of a stdin that nobody closes"
        |l| l.is_run() && l.hung_on("stdin");
    "0.4" "none" "question/row-diff" "run does not see a question"
        |l| l.is_run() && l.hung_on("question");
    "0.4" "none" "permission/opencode-run-child" "run does not see a subagent's ask"
        |l| l.is_run() && l.hung_on("permission") && l.child_asks();
    "1.1" "auto-answer@r1" "altimate/snowflake" "finds \"no\" inside a label"
        |l| l.breaks(DoubleOrInventedReply) && l.no_in_a_word();
    "1.1" "auto-answer@r1" "altimate/answers" "invents an answer"
        |l| l.breaks(DoubleOrInventedReply);
    "1.1" "auto-answer@r1" "altimate/live-answerer" "answers though somebody would"
        |l| l.breaks(Harm) && l.user_would_answer();
    "1.1" "auto-answer@r2" "altimate/live-answerer" "answers though somebody would"
        |l| l.breaks(Harm) && l.user_would_answer();
    "1.1" "auto-answer@r2" "altimate/answers" "says in one breath that nobody answered and that they did"
        |l| l.lies("no user was available");
    "1.1" "auto-answer@r3" "altimate/answers" "says that no user was available though an answer was preset"
        |l| l.lies("no user was available");
    "2.5a" "watcher@pr3" "companion/tool-calls-is-no-end" "takes a `tool-calls` step for the end"
        |l| l.breaks_for(Unfinished, "tool-calls");
    "2.5a" "heal@pr3" "companion/tool-calls-is-no-end" "takes a `tool-calls` step for the end"
        |l| l.breaks_for(Unfinished, "tool-calls");
    "2.5b" "watcher@pr5" "companion/masked-by-a-sibling" "is blinded by a child that has nothing to do with it"
        |l| l.stopped_by("prompt-timeout") && l.bash_is_over() && l.sees_children() && l.more_tools_than_children();
    "2.5c" "watcher@pr3" "companion/server-crash" "waits four hours for a server that is gone"
        |l| l.crashes() && l.ends_after(Span::hours(4));
    "2.5d" "watcher@pr3" "companion/refused-at-once" "tells a refused prompt when idle fires"
        |l| l.refused() && l.ends_after(Span::mins(15));
    "2.5e" "heal@pr3" "companion/false-failed" "calls a running job failed when its worker is dead"
        |l| l.breaks(Harm) && l.stopped_by("worker-dead") && l.worker_dies();
    "2.5f" "heal@pr3" "companion/queued-for-ever" "never heals a job that is queued"
        |l| l.hung_on("worker") && l.never_starts();
    "2.5g" "watcher@pr3" "companion/post-cut-hides-the-cause" "tells the cut of the POST for the cause"
        |l| l.post_is_cut() && l.lies("reports fetch as the cause");
    "2.5h" "watcher@pr5" "companion/model-silent" "reports another idle limit than it has"
        |l| l.lies("reports idle_ms");
    "2.5i" "watcher@pr3" "companion/long-and-lively" "kills a long bash that streams its output"
        |l| l.breaks(Harm) && l.stopped_by("idle") && l.bash_streams();
    "2.5j" "watcher@pr3" "companion/answered-late" "cuts off a person who answers"
        |l| l.breaks(Harm) && l.user_would_answer();
    "3.4a" "idle@f54b32f" "little-loops/silent-compile" "kills a silent tool"
        |l| l.breaks(Harm) && l.stopped_by("idle");
    "3.4b" "idle@grace" "little-loops/burst" "reads one line a wake-up: a result that was there is not seen"
        |l| l.lies("had ended by itself") && l.stopped_by("wall") && l.has_result();
    "3.4c" "idle@f54b32f" "little-loops/half-a-line" "half a line stops both clocks"
        |l| l.breaks(OutOfBounds) && l.half_a_line() && !l.closes_output();
    "3.4d" "idle@f54b32f" "little-loops/closed-pipes" "waits for ever for a child that has closed its pipes"
        |l| l.breaks(OutOfBounds) && l.closes_output();
    "3.4f" "idle@f54b32f" "little-loops/heartbeat" "noise on stderr defeats idle"
        |l| l.noise() && l.stopped_by("wall");
    "3.4g" "idle@f54b32f" "little-loops/grandchild" "leaves grandchildren behind"
        |l| l.breaks(LeftBehind);
    "4.5" "auto-approve@v1" "clive/failing-bash" "approves a failing bash"
        |l| l.breaks(DoubleOrInventedReply) && l.bash_fails();
    "4.5" "auto-approve@v1" "clive/question" "approves a question"
        |l| l.breaks(DoubleOrInventedReply) && l.asks() && !l.has_bash();
    "4.5" "auto-approve@v2" "clive/failing-bash" "approves a failing bash"
        |l| l.breaks(DoubleOrInventedReply) && l.bash_fails();
    "5.2" "blind-timeout" "pawwork/answered-late" "silence rejects a question"
        |l| l.breaks(RejectedWithoutCause);
    "5.2" "blind-timeout" "pawwork/silent-in-the-middle" "an aborted stream drains as a success"
        |l| l.breaks(Unfinished);
    "5.1" "ledger@v0" "pawwork/malformed-reply" "a malformed reply loses the question"
        |l| l.breaks(Harm) && l.ask_ends(AskEnd::Rejected, Cause::Malformed);
    "5.4" "recovery@430" "pawwork/recovery-halts" "the recovery becomes the killer"
        |l| l.breaks(RejectedWithoutCause);
    "5.7" "ledger@v0" "pawwork/child-question" "a child's question does not pause its parent's clock"
        |l| l.breaks(RejectedWithoutCause) && l.child_asks();
    "5.7" "ledger@v0" "pawwork/permission" "a permission does not pause the clock"
        |l| l.breaks(RejectedWithoutCause) && l.permission_dies();
}

impl Look<'_> {
    fn verdict(&self) -> &Verdict {
        self.shown.verdict()
    }

    /// The stack breaks an invariant that `none` does not break here.
    fn breaks(&self, invariant: Invariant) -> bool {
        self.breaks_for(invariant, "")
    }

    /// As [`Look::breaks`], for a reason that contains this text.
    fn breaks_for(&self, invariant: Invariant, why: &str) -> bool {
        let before = self.shown.under.is_some() && self.shown.none.verdict.broken().contains(&invariant);
        !before
            && self.verdict().breaches.iter().any(|breach| breach.invariant == invariant && breach.why.contains(why))
    }

    fn lies(&self, why: &str) -> bool {
        self.breaks_for(UntrueReport, why)
    }

    fn hung_on(&self, what: &str) -> bool {
        matches!(&self.verdict().outcome, Outcome::Hung { blocked_on, .. } if blocked_on.word() == what)
    }

    fn stopped_by(&self, what: &str) -> bool {
        matches!(&self.verdict().outcome, Outcome::Stopped { cause } if cause == what)
    }

    fn ends_after(&self, span: Span) -> bool {
        let outcome = &self.verdict().outcome;
        !outcome.is_hung() && !outcome.is_undecided() && self.verdict().ended.since(VTime::ZERO) >= span
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
                children.push(id);
                false
            }
            Fact::Asked { session, .. } => children.contains(&session),
            _ => false,
        })
    }

    /// An ask comes to this end.
    fn ask_ends(&self, end: AskEnd, cause: Cause) -> bool {
        ends(self.verdict(), |row| matches!(row.end, Some((_, e, c, _)) if (e, c) == (end, cause)))
    }

    /// A permission is rejected, and no person did that.
    fn permission_dies(&self) -> bool {
        let rejected = |row: &AskRow| matches!(row.end, Some((_, AskEnd::Rejected, Cause::Silence | Cause::Stop, _)));
        ends(self.verdict(), |row| row.kind == AskKind::Permission && rejected(row))
    }

    /// A person answers more asks without the stack than with it.
    fn user_would_answer(&self) -> bool {
        let by_user = |row: &AskRow| matches!(&row.end, Some((_, AskEnd::Replied, Cause::Answer, by)) if by == "user");
        let count = |verdict: &Verdict| verdict.asks.iter().filter(|row| by_user(row)).count();
        count(&self.shown.none.verdict) > count(self.verdict())
    }

    /// A label was chosen because it contains "no" as a part of a word.
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

    /// At the end more bash tools run than children of the agent live: one tool has lost its child, and another child
    /// is there.
    fn more_tools_than_children(&self) -> bool {
        let (mut tools, mut children) = (BTreeSet::new(), BTreeSet::new());
        for event in &self.shown.played().trace.events {
            let of_agent = Role::of(&event.who).is_some_and(|role| role.depth() == 1);
            match &event.what {
                What::Fact(Fact::ToolBegan { call, tool, .. }) if tool == "bash" => drop(tools.insert(call)),
                What::Fact(Fact::ToolEnded { call, .. }) => drop(tools.remove(call)),
                What::Spawn { .. } if of_agent => drop(children.insert(&event.who)),
                What::Exit(_) | What::Killed(_) => drop(children.remove(&event.who)),
                What::Settled { .. } => break,
                _ => {}
            }
        }
        !children.is_empty() && children.len() < tools.len()
    }

    /// `opencode run`, or a fork's.
    fn is_run(&self) -> bool {
        let agent = &self.scenario.agent;
        agent.kind().has_server && agent.form() == Form::Run
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

    fn post_is_cut(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Post(p) if matches!(p.does, PostDoes::Cut(_))))
    }

    fn worker_dies(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Worker(WorkerFault::Dies(_))))
    }

    fn never_starts(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Worker(WorkerFault::NeverStarts)))
    }

    /// A bash tool's process is over and its state is not.
    fn bash_is_over(&self) -> bool {
        self.fault(|f| matches!(f, Fault::Tool(tool) if tool.does == ToolDoes::NeverFlips)) && self.has_bash()
    }

    fn asks(&self) -> bool {
        any_turn(&self.scenario.turns, &|turn| matches!(turn, Turn::Ask(_)))
    }

    fn has_bash(&self) -> bool {
        self.bash(&|_| true)
    }

    fn bash_fails(&self) -> bool {
        self.bash(&|does| does.iter().any(|step| matches!(step, Step::Exit(code) if *code > 0)))
    }

    fn bash_streams(&self) -> bool {
        self.bash(&|does| does.iter().any(|step| matches!(step, Step::Every(_))))
    }

    fn bash(&self, is: &dyn Fn(&[Step]) -> bool) -> bool {
        any_turn(&self.scenario.turns, &|turn| matches!(turn, Turn::Bash(bash) if is(&bash.does)))
    }

    fn step(&self, is: &dyn Fn(&Step) -> bool) -> bool {
        self.scenario.agent.steps().unwrap_or_default().iter().any(is)
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

    fn has_result(&self) -> bool {
        self.step(&|step| matches!(step, Step::Result(result) if !result.cut))
    }
}

fn ends(verdict: &Verdict, is: impl Fn(&AskRow) -> bool) -> bool {
    verdict.asks.iter().any(is)
}

fn any_turn(turns: &[Turn], is: &dyn Fn(&Turn) -> bool) -> bool {
    turns.iter().any(|turn| match turn {
        Turn::Task(task) => any_turn(&task.turns, is),
        Turn::Together(calls) => any_turn(calls, is),
        turn => is(turn),
    })
}
