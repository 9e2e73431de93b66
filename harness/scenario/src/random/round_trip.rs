//! Every scenario that is written loads as the same.

use super::{Kind, Rng};
use crate::playable::is_playable;
use crate::time::Span;
use crate::*;

/// Scenarios of each kind of agent.
const EACH: u64 = 60;

impl Rng {
    /// A scenario with everything else that a file can hold.
    fn whole(&mut self, kind: Kind) -> Scenario {
        let mut scenario = self.scenario(kind);
        scenario.title = self.text();
        scenario.about = self.one_in(2).then(|| self.text());
        scenario.mechanism = self.pick(Mechanism::ALL).to_string();
        scenario.cites = self.some(0, 1, Rng::text);
        scenario.terminals = self.terminals();
        scenario.env = self.some(0, 2, |s| (s.pick(&["A", "LANG", "ZZ"]).to_owned(), s.text())).into_iter().collect();
        scenario.args = self.some(0, 2, Rng::text);
        scenario.seeds = (1..=1 + self.below(3) as u64).collect();
        let all = [vec![Stage::Sim], vec![Stage::Lockstep], vec![Stage::Sim, Stage::Lockstep]];
        scenario.stages = self.one_in(2).then(|| Stages { only: self.pick(&all), because: self.text() });
        scenario.survives = self.some(0, 1, Rng::text);
        scenario.skip = self.some(0, 1, |s| Skip {
            strategies: s.some(0, 1, Rng::text),
            terminals: s.terminals(),
            because: s.text(),
        });
        scenario.expect = self.some(0, 2, Rng::rule);
        scenario
    }

    /// A few terminals, each once.
    fn terminals(&mut self) -> Vec<Terminal> {
        let all = Terminal::ALL.into_iter().filter(|_| self.one_in(3)).collect::<Vec<_>>();
        if all.is_empty() { vec![Terminal::Null] } else { all }
    }

    fn orders(&mut self) -> Vec<Order> {
        self.some(0, 1, |s| {
            let choice = TieChoice { tie: 1 + s.below(99) as u32, pick: 2 + s.below(3) as u16 };
            Order::from(s.below(9) as u64).then(choice).expect("its only choice")
        })
    }

    fn rule(&mut self) -> Expect {
        Expect {
            arm: self.pick(&[Arm::Main, Arm::Control]),
            strategies: self.some(0, 1, Rng::text),
            terminals: self.terminals(),
            seeds: self.some(0, 1, |s| s.below(9) as u64),
            orders: if self.one_in(4) { Orders::Some } else { self.orders().into() },
            outcome: match self.below(6) {
                0 => Expected::Completed,
                1 => Expected::Failed,
                2 => Expected::Undecided,
                3 => Expected::Hung(self.text()),
                4 => Expected::Stopped(self.text()),
                _ => Expected::AsNone,
            },
            proof: self.maybe(&[Proof::Deadlock, Proof::Lasso]),
            within: self.one_in(2).then(|| self.span()),
            not_before: self.one_in(2).then(|| self.span()),
            breaks: Invariant::ALL.into_iter().filter(|_| self.one_in(4)).collect(),
            policy: self.one_in(2).then(|| self.policy()),
            told: self.some(0, 1, Rng::text),
            says: self.some(0, 1, Rng::text),
            gets: self.some(0, 1, |s| s.below(600) as u16),
        }
    }

    fn policy(&mut self) -> Policy {
        Policy {
            detected: self.one_in(2).then(|| self.text()),
            answered: self.one_in(2).then(|| self.some(0, 1, |s| s.some(0, 1, Rng::text))),
            constants: self.some(0, 1, |s| (s.pick(&["a", "b"]).to_owned(), s.below(99) as u64)).into_iter().collect(),
            ..Policy::default()
        }
    }
}

/// Whether a file can hold it: what is drawn may be nested deeper than a file may be.
fn fits(scenario: &Scenario, control: Option<&Scenario>) -> bool {
    let loaded = load("generated.toml", to_toml(scenario, control).as_bytes());
    let deep = |problem: &Problem| problem.message.starts_with("nested deeper");
    is_playable(scenario) && control.is_none_or(is_playable) && !loaded.problems.list.iter().any(deep)
}

/// Each kind's scenarios that a file can hold, with a source for more.
fn all(test: impl Fn(Scenario, &mut Rng)) {
    let mut tried = 0;
    for seed in 0..EACH {
        let mut rng = Rng::new(seed).of_anything();
        for kind in Kind::all() {
            let scenario = rng.whole(kind);
            if fits(&scenario, None) {
                tried += 1;
                test(scenario, &mut rng);
            }
        }
    }
    assert!(tried > 400, "most of what is drawn fits into no file: {tried}");
}

fn back(text: &str) -> Family {
    load("generated.toml", text.as_bytes()).into_result().unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

#[test]
fn what_is_written_loads_to_the_same() {
    all(|scenario, _| {
        let text = to_toml(&scenario, None);
        assert_eq!(back(&text).variants[0].scenario, scenario, "{text}");
    });
}

#[test]
fn so_does_its_control_arm() {
    all(|scenario, rng| {
        let mut control = scenario.clone();
        if scenario.agent.kind().has_model {
            control.turns = rng.some(0, 3, |s| s.turn(1));
        }
        control.args = rng.some(1, 2, Rng::text);
        if control == scenario || !fits(&scenario, Some(&control)) {
            return;
        }
        let text = to_toml(&scenario, Some(&control));
        let family = back(&text);
        assert_eq!(family.variants[0].scenario, scenario, "{text}");
        assert_eq!(family.variants[0].control.as_ref(), Some(&control), "{text}");
    });
}

#[test]
fn any_time_is_a_short_one_or_a_long_one() {
    let mut rng = Rng::new(1).of_anything();
    let spans = rng.some(200, 200, Rng::span);
    assert!(spans.iter().any(|span| *span < Span::secs(5)) && spans.iter().any(|span| *span > Span::hours(1)));
}
