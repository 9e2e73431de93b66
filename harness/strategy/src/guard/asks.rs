//! The part of guard inside of an agent, for whoever builds the agent: a question that nobody can be asked is not asked.
//!
//! Invariant: only a one-shot run is affected, which takes no answers, and none that listens. The model reads that nobody was asked, and nothing
//! that a user did not do; what has a route to somebody is left to the parts outside, as is a permission.

use crate::{Act, Ask, Facts, InsideAct, InsideSeen, Seen, Strategy};
use rehang_words::{Canon, Policy, Span, VTime};

/// What the model reads in place of an answer.
const TEXT: &str = "Nobody was asked: this run takes no answers. Go on without one where that is safe; otherwise end, and say what has to be decided.";

#[derive(Debug, Default)]
pub(super) struct Asks {
    /// Whether this is a one-shot run that nobody can reach.
    unreachable: bool,
}

fn keep_back(ask: &Ask, acts: &mut Vec<Act>) {
    acts.push(Act::Report(Policy {
        detected: Some("no-answer-route".to_owned()),
        answered: Some(vec![Vec::new(); ask.questions.len()]),
        rule: Some("not-asked".to_owned()),
        text: Some(TEXT.to_owned()),
        ..Policy::default()
    }));
    acts.push(Act::Inside(InsideAct::Withhold { text: TEXT.to_owned() }));
}

impl Strategy for Asks {
    fn on(&mut self, _: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Inside(InsideSeen::Boot { run, listens, .. }) => self.unreachable = *run && !*listens,
            // a subagent's question has no other route than its parent's
            Seen::Inside(InsideSeen::ToolAsks(ask)) if self.unreachable => keep_back(ask, acts),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        None
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self { unreachable } = self;
        canon.flag(*unreachable);
    }
}

#[cfg(test)]
mod tests {
    use crate::InsideAct;
    use crate::InsideSeen;
    use crate::testing::{Bench, ask, question};
    use crate::{Act, Ask, Seen};

    fn told(run: bool, listens: bool, child: bool) -> Option<String> {
        let mut bench = Bench::of("guard-asks");
        bench.see(Seen::Inside(InsideSeen::Boot { env: Vec::new(), stdin_tty: false, run, listens }));
        let acts = bench.see(Seen::Inside(InsideSeen::ToolAsks(Ask { child, ..ask(vec![question("q", &[])]) })));
        acts.into_iter()
            .find_map(|act| if let Act::Inside(InsideAct::Withhold { text }) = act { Some(text) } else { None })
    }

    #[test]
    fn a_question_is_kept_back_where_nobody_can_be_asked_and_nowhere_else() {
        for child in [false, true] {
            assert_eq!(told(false, false, child), None, "a server has clients, a host and a terminal have somebody");
            assert_eq!(told(true, true, child), None, "somebody may reach it over HTTP");
            let text = told(true, false, child).expect("it is kept back");
            assert!(!text.contains("user") && !text.contains("dismissed"), "nobody did anything: {text}");
        }
    }
}
