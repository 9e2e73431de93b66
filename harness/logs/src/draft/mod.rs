//! From a story and a guess to a scenario that does the same, small enough to read.
//!
//! Invariants: what hangs is kept whatever the limit on turns, and of the rest the oldest is removed first; every text
//! has been masked; a control arm differs only in the one thing that makes the main arm hang.

mod actors;
mod alone;
mod arms;
mod program;
mod responses;
mod waits;

use self::responses::count;
use crate::commands::Waits;
use crate::guess::{End, Guess, Hang, words};
use crate::mask::Mask;
use crate::note::{Asks, Kind};
use crate::story::Story;
use crate::story::teardown;
use crate::verdict::Verdict;
use rehang_scenario::Mechanism;
use rehang_scenario::text::duration;
use rehang_scenario::turns::Turn;
use rehang_scenario::{
    Agent, Client, Does, Expect, Expected, Fault, ModelDoes, Person, Scenario, Sees, Span, Terminal, Via,
};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A drafted scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The scenario.
    pub scenario: Scenario,
    /// Its control arm, if it hangs.
    pub control: Option<Scenario>,
    /// Steps of the log that it leaves out.
    pub left_out: u64,
}

/// A scenario with nothing in it.
pub(crate) fn blank(agent: Agent, terminals: Vec<Terminal>) -> Option<Scenario> {
    made(json!({"title": "", "mechanism": "", "agent": agent, "terminals": terminals}))
}

/// A value of the scenario format with its defaults filled in, as from a file.
fn made<T: DeserializeOwned>(value: Value) -> Option<T> {
    let made = serde_json::from_value(value);
    debug_assert!(made.is_ok(), "{:?}", made.as_ref().err());
    made.ok()
}

/// A rule for these stacks.
fn rule(strategies: &[&str], outcome: Expected) -> Option<Expect> {
    made(json!({"strategies": strategies, "outcome": outcome}))
}

fn person(via: Via, sees: Option<Sees>, ask: u32, after: Span, does: Does) -> Option<Person> {
    made(json!({"via": via, "sees": sees, "ask": ask, "after": after, "does": does}))
}

fn model_fault(scenario: &mut Scenario, response: u32, after: u32, does: ModelDoes) {
    let fault = json!({"model": {"response": response, "after": after, "does": does}});
    scenario.faults.extend(made::<Fault>(fault));
}

/// Drafts the scenario of a story with at most `turns` turns.
pub fn draft(story: &Story, guess: &Guess, mask: &mut Mask, turns: usize) -> Option<Draft> {
    let mut draft = match (story.agent.kind, story.root()) {
        // no fake is told to live on after its result
        _ if guess.mechanism == "H1" && guess.hang == Hang::Program => program::draft(story, guess, mask, turns)?,
        (Kind::Claude | Kind::Opencode, Some(root)) => {
            Drafter { story, guess, mask, root, asks: Vec::new(), left_out: 0 }.draft(turns)?
        }
        (kind, Some(root)) if alone::is_played(kind, guess) => {
            Drafter { story, guess, mask, root, asks: Vec::new(), left_out: 0 }.draft(turns)?
        }
        (Kind::Codex, None) if guess.mechanism == "S1" => alone::reads_stdin(story)?,
        _ => program::draft(story, guess, mask, turns)?,
    };
    let scenario = &mut draft.scenario;
    guess.mechanism.clone_into(&mut scenario.mechanism);
    let title = title(story, guess, mask);
    scenario.title = mask.text(&title);
    scenario.about = Some(about(story, guess, draft.left_out, mask));
    scenario.expect = expect(guess, scenario, "");
    if let Some(control) = &mut draft.control {
        control.title.clone_from(&draft.scenario.title);
        control.about.clone_from(&draft.scenario.about);
        control.mechanism.clone_from(&draft.scenario.mechanism);
        control.expect.clone_from(&draft.scenario.expect);
    }
    Some(draft)
}

/// The rules of a drafted scenario: what `none` does, and the rest. `blocked_on` is what a run of it was blocked on, if
/// it has run.
pub fn expect(guess: &Guess, scenario: &Scenario, blocked_on: &str) -> Vec<Expect> {
    let none = match guess.end {
        End::Completed => Expected::Completed,
        End::Failed => Expected::Failed,
        End::Stopped => Expected::Stopped("stop".to_owned()),
        End::Hung if blocked_on.is_empty() => Expected::Hung(blocked(guess, scenario).to_owned()),
        End::Hung => Expected::Hung(blocked_on.to_owned()),
    };
    [rule(&["none"], none), rule(&[], Expected::AsNone)].into_iter().flatten().collect()
}

/// What a run will be blocked on, in the judge's words.
fn blocked(guess: &Guess, scenario: &Scenario) -> &'static str {
    let asks_person = |asks: &Asks| if matches!(asks, Asks::Questions(_)) { "question" } else { "permission" };
    if !scenario.agent.kind().has_model {
        return program::blocked(scenario);
    }
    match &guess.hang {
        Hang::Ask(_) | Hang::Call { .. } => {
            let last = last_call(&scenario.turns);
            match last {
                Some(Turn::Ask(_)) => asks_person(&Asks::Questions(Vec::new())),
                _ => "permission",
            }
        }
        Hang::Bash { .. } if alone::is_alone(&scenario.agent) => "bash",
        Hang::Bash { waits: Waits::Stdin, .. } => "stdin",
        Hang::Bash { waits: Waits::Tty, .. } => "tty",
        Hang::Bash { .. } => "pipe",
        Hang::Tool { .. } => match last_call(&scenario.turns) {
            Some(Turn::Task(_)) => "tool",
            _ => "bash",
        },
        Hang::Model { .. } => "model",
        Hang::Idle | Hang::Restart { .. } => "event",
        Hang::NoTurn => match &scenario.agent {
            Agent::Opencode(opencode) if opencode.client == Client::Post => "post",
            _ => "event",
        },
        Hang::Post { .. } => "post",
        Hang::Program => program::blocked(scenario),
        Hang::None | Hang::Failed { .. } => "unknown",
    }
}

fn last_call(turns: &[Turn]) -> Option<&Turn> {
    turns.iter().rev().find_map(|turn| match turn {
        Turn::Task(task) => last_call(&task.turns).or(Some(turn)),
        Turn::Together(calls) => last_call(calls),
        Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) => Some(turn),
        _ => None,
    })
}

fn title(story: &Story, guess: &Guess, mask: &mut Mask) -> String {
    let mut short = |text: &str| mask.shown(&text.replace('\n', " "), 60);
    let of = match story.agent.kind.name() {
        "a program" => "A program",
        "an agent" => "An agent",
        name => name,
    };
    let call = |id: &str| story.find_call(id).map(|(_, call)| words(&call.does)).unwrap_or_default();
    let said = match (&guess.hang, guess.end) {
        (Hang::Ask(at), _) => match &story.asks[*at].asks {
            Asks::Questions(questions) => {
                format!("{of} asks and nobody answers: {}", short(questions.first().map_or("", |q| &q.question)))
            }
            Asks::Permission { permission, patterns } => {
                let on = patterns.first().map_or("", String::as_str);
                format!("{of} wants a permission and nobody answers: {}", short(&format!("{permission} {on}")))
            }
        },
        (Hang::Call { call: id, .. }, _) => format!("{of} asks and nobody answers: {}", short(&call(id))),
        (Hang::Bash { call: id, .. }, _) => {
            format!("{of} runs a command that does not come back: {}", short(&call(id)))
        }
        (Hang::Tool { call: id }, _) => format!("{of} waits for a tool that does not come back: {}", short(&call(id))),
        (Hang::Model { refuses: Some(status), .. }, _) => {
            format!("{of} asks its model again and again, and gets {status}")
        }
        (Hang::Model { cuts: true, .. }, _) => {
            format!("{of} asks its model again and again, and its answers break off")
        }
        (Hang::Model { .. }, _) => format!("{of} waits for its model, which is silent"),
        (Hang::Restart { .. }, End::Hung) => format!("{of} is started anew, and what it asked is lost"),
        (Hang::NoTurn, _) => format!("{of} takes a prompt, and no turn begins"),
        (Hang::Idle, _) => format!("{of} is done and never says that it is idle"),
        (Hang::Post { .. }, _) => format!("{of} is idle, and the prompt's request has no response"),
        (Hang::Program, _) => {
            let (before, _) = teardown::cut(story);
            let last = before.last().map_or("nothing", |line| line.text.trim());
            format!("{of} says no more after: {}", short(last))
        }
        (Hang::None | Hang::Restart { .. }, End::Completed) => format!("{of} completes, as its log shows"),
        (Hang::Failed { .. }, _) | (Hang::None, End::Failed) => format!("{of} fails, as its log shows"),
        (Hang::None | Hang::Restart { .. }, _) => format!("{of} is stopped, as its log shows"),
    };
    if guess.verdict == Verdict::EndedOpen { format!("If it hung: {said}") } else { said }
}

fn about(story: &Story, guess: &Guess, left_out: u64, mask: &mut Mask) -> String {
    let name = guess.mechanism.parse().map_or(String::new(), |known: Mechanism| format!(" ({})", known.name()));
    let mut text = format!("Imported from a log: {}, since {}.", guess.verdict.word(), guess.because.join("; "));
    if guess.verdict.drafts_a_hang() {
        let it = if guess.verdict == Verdict::Hung { "It" } else { "If it hung, it" };
        let why = guess.why.join("; ");
        text.push_str(&match (guess.named(), guess.verdict) {
            (Some(id), Verdict::Hung) => format!(" {it} is taken for {id}{name}: {why}."),
            (Some(id), _) => format!(" {it} would be {id}{name}: {why}."),
            (None, Verdict::Hung) => {
                format!(" Nothing in the log names a mechanism; this plays {}{name}: {why}.", guess.mechanism)
            }
            (None, _) => format!(
                " Nothing in the log names a mechanism; if it hung, this plays {}{name}: {why}.",
                guess.mechanism
            ),
        });
    }
    if story.clock.timed && guess.verdict.drafts_a_hang() {
        let (moved, is) = (duration(story.clock.moved_ms()), &story.clock.material_is);
        text.push_str(&format!(" Progress ended {moved} after the log's begin, with {is}."));
    }
    for (id, why) in &guess.others {
        text.push_str(&format!(" Or {id}: {why}."));
    }
    if left_out > 0 {
        text.push_str(&format!(" {left_out} earlier steps are left out."));
    }
    mask.text(&text)
}

struct Drafter<'a> {
    story: &'a Story,
    guess: &'a Guess,
    mask: &'a mut Mask,
    root: &'a str,
    /// The asks of the turns that are kept, in order.
    asks: Vec<usize>,
    left_out: u64,
}

impl<'a> Drafter<'a> {
    fn draft(mut self, turns: usize) -> Option<Draft> {
        let mut groups = self.groups(self.root, 0);
        if matches!(self.guess.hang, Hang::Model { cuts: true, .. }) {
            // responses without words come from the fault
            groups.retain(|group| !group.said.is_empty() || !group.calls.is_empty());
        }
        self.shrink(&mut groups, turns.max(1));
        let gaps = count(&groups, true) <= turns;
        let (agent, terminals) = self.agent();
        let mut scenario = blank(agent, terminals)?;
        scenario.args = self.args();
        scenario.turns = self.turns(&groups, gaps);
        scenario.turns.extend(self.without_call());
        scenario.people = self.people();
        let mut control = scenario.clone();
        self.hang(&mut scenario, &mut control, &groups);
        let hangs = self.guess.end == End::Hung;
        Some(Draft { scenario, control: hangs.then_some(control), left_out: self.left_out })
    }
}
