//! What makes the main arm of a drafted scenario hang, and the control arm not.
//!
//! Invariant: a control arm differs only in the one thing that makes the main arm hang.

use super::responses::Group;
use super::{Drafter, last_call, made, model_fault, person};
use crate::commands::Waits;
use crate::guess::{End, Hang};
use crate::limits;
use crate::note::Kind;
use crate::story::What;
use rehang_scenario::turns::{Bash, ChildStdin, Kills, Question, Step, Turn, WaitsFor, responses};
use rehang_scenario::{
    Agent, Client, Does, EventDoes, EventFault, Fault, ModelDoes, OpencodeMode, PostDoes, PostFault, ProcessDoes,
    Scenario, Sees, Span, ToolDoes, ToolFault, Via,
};
use serde_json::json;

impl<'a> Drafter<'a> {
    /// The time between the last two responses of a session, in milliseconds.
    fn ends_every(&self, session: &str) -> u64 {
        let steps = self.story.sessions.get(session).into_iter().flat_map(|s| s.steps.iter().rev());
        let mut ends = steps.filter(|step| matches!(step.what, What::Ended(_))).map(|step| step.at);
        let last = ends.next().unwrap_or_default();
        ends.next().map_or(0, |before| last.saturating_sub(before))
    }

    /// Makes the main arm hang, and the control arm not.
    pub(super) fn hang(&mut self, scenario: &mut Scenario, control: &mut Scenario, groups: &[Group<'a>]) {
        let run = matches!(&scenario.agent, Agent::Opencode(o) if o.mode == OpencodeMode::Run);
        let via = self.via();
        match &self.guess.hang {
            Hang::None if self.guess.end == End::Stopped && self.story.ending.stopped_at_model => {
                let (response, after) = stalled(&scenario.turns, false);
                let does = silence(&scenario.agent);
                model_fault(scenario, response, after, does);
            }
            Hang::None if self.fails_unexplained() => model_fault(scenario, 0, 0, ModelDoes::Status(400)),
            Hang::None => {}
            Hang::Failed { cut: true, .. } if self.story.agent.kind != Kind::Gemini => {
                let words = scenario.turns.iter().filter(|turn| matches!(turn, Turn::Say(_))).count().max(1);
                model_fault(scenario, 0, u32::try_from(words).unwrap_or(1), ModelDoes::Truncate);
            }
            Hang::Failed { status, .. } => {
                // words that end the turn belong to the response that fails: after them nothing is asked
                let (response, _) = stalled(&scenario.turns, true);
                // Claude Code asks again after a 400; 401 is final
                let claude = self.story.agent.kind == Kind::Claude;
                let does = ModelDoes::Status(status.unwrap_or(if claude { 401 } else { 400 }).clamp(400, 599));
                // a server that is asked again must refuse then too
                let again = matches!(status, Some(429 | 500..)) || claude && *status == Some(400);
                let response = if again { 0 } else { response };
                model_fault(scenario, response, 0, does);
            }
            Hang::Ask(_) | Hang::Call { .. } => {
                let does = first_answer(&scenario.turns);
                let child = matches!(&self.guess.hang, Hang::Ask(at) if self.story.depth(&self.story.asks[*at].session) > 0)
                    || scenario.turns.iter().any(|turn| matches!(turn, Turn::Task(_)));
                let sees = (via == Via::Http).then_some(if child { Sees::Tree } else { Sees::Events });
                let answered = control.people.len();
                let ask = if answered > 0 { u32::try_from(self.asks.len()).unwrap_or(1) } else { 0 };
                control.people.extend(person(via, sees, ask, ANSWERS_AFTER, does));
                if via == Via::Tty {
                    let does = Does::Type("\u{4}".to_owned());
                    control.people.extend(person(via, Some(Sees::Clock), 0, Span::mins(1), does));
                }
                if run {
                    control.args.extend(["--port".to_owned(), "0".to_owned()]);
                }
            }
            // a release goes on after a limit of its own: it waits for what is lost
            Hang::Bash { .. } if self.story.agent.kind.is_alone() => {
                for arm in [&mut *scenario, control] {
                    bashes(&mut arm.turns, &mut |bash| bash.does.push(Step::Hold));
                }
                let nth = calls_before_last(&scenario.turns);
                scenario.faults.push(Fault::Tool(ToolFault { nth, does: ToolDoes::NeverFlips }));
            }
            Hang::Bash { waits, .. } => {
                bashes(&mut scenario.turns, &mut |bash| holds(bash, *waits));
                bashes(&mut control.turns, &mut |bash| {
                    let released = Step::Print("done".to_owned());
                    bash.does.push(released);
                });
            }
            Hang::Tool { .. } => {
                let nth = calls_before_last(&scenario.turns);
                scenario.faults.push(Fault::Tool(ToolFault { nth, does: ToolDoes::NeverFlips }));
            }
            Hang::Restart { at } => {
                let fault = json!({"process": {"at": Span::ms(*at), "does": ProcessDoes::Restart}});
                scenario.faults.extend(made::<Fault>(fault));
                // somebody answers after it: too late only in the one arm
                let does = first_answer(&scenario.turns);
                let late = person(via, Some(Sees::Tree), 0, Span::ms(at + ANSWERS_AFTER.as_ms()), does);
                control.people.clone_from(&scenario.people);
                control.people.extend(late.clone());
                scenario.people.extend(late);
            }
            Hang::Model { session, cuts: true, .. } => {
                let every = self.ends_every(session);
                if every >= limits::GAP_MS {
                    model_fault(scenario, 0, 0, ModelDoes::Pause(Span::ms(every.min(limits::GAP_MAX_MS))));
                }
                model_fault(scenario, 0, 0, ModelDoes::Truncate);
            }
            Hang::Model { session, refuses, .. } => {
                if let Some(status) = refuses.filter(|_| self.story.agent.kind != Kind::Claude) {
                    let status = status.clamp(400, 599);
                    model_fault(scenario, 0, 0, ModelDoes::Status(status));
                    return;
                }
                let claude = self.story.agent.kind == Kind::Claude;
                let said = |step: &&crate::story::Step| !claude || !matches!(step.what, What::Ended(_));
                let mut steps = self.story.sessions.get(session).into_iter().flat_map(|s| s.steps.iter().rev());
                let partial = steps.find(said);
                let partial = partial
                    .is_some_and(|step| matches!(&step.what, What::Said { text, .. } if !text.trim().is_empty()));
                let (response, after) = stalled(&scenario.turns, partial && !groups.is_empty());
                let does = silence(&scenario.agent);
                model_fault(scenario, response, after, does);
            }
            Hang::Idle => {
                for kind in ["session.status:idle", "session.idle"] {
                    scenario.faults.push(Fault::Event(EventFault {
                        kind: kind.to_owned(),
                        nth: 0,
                        does: EventDoes::Drop,
                    }));
                }
            }
            Hang::NoTurn => {
                scenario.faults.push(Fault::Post(PostFault { nth: 1, does: PostDoes::Ignored }));
            }
            // a stop leaves it open by itself
            Hang::Post { stopped: true } => {
                if let Agent::Opencode(opencode) = &mut control.agent {
                    opencode.client = Client::Post;
                }
                control.people.clear();
                if !self.asks.is_empty() {
                    let does = first_answer(&scenario.turns);
                    control.people.extend(person(via, Some(Sees::Tree), 0, ANSWERS_AFTER, does));
                }
            }
            Hang::Post { stopped: false } => {
                scenario.faults.push(Fault::Post(PostFault { nth: 1, does: PostDoes::NeverCloses }));
            }
            Hang::Program => {}
        }
    }
}

/// A model that is silent for ever. A client with a limit on silence would have asked again; if it did not, the log
/// shows nothing because the stream only sends signs of life.
fn silence(agent: &Agent) -> ModelDoes {
    if agent.gives_silence_up() { ModelDoes::KeepAlive(KEEPS_ALIVE) } else { ModelDoes::Stall }
}

/// How often the stream sends a sign of life. A choice: as in `model/keep-alive`.
const KEEPS_ALIVE: Span = Span::secs(15);

/// How long the person who answers in a control arm takes. A choice.
const ANSWERS_AFTER: Span = Span::secs(2);

/// The reply that ends the last ask: the first label of each question, or permission.
fn first_answer(turns: &[Turn]) -> Does {
    let first = |q: &Question| q.options.first().map_or_else(|| "Yes".to_owned(), |o| o.label.clone());
    match last_call(turns) {
        Some(Turn::Ask(questions)) => Does::Answer(questions.iter().map(first).collect()),
        _ => Does::Allow,
    }
}

/// The last command of turns.
fn bashes(turns: &mut [Turn], then: &mut dyn FnMut(&mut Bash)) -> bool {
    for turn in turns.iter_mut().rev() {
        let done = match turn {
            Turn::Bash(bash) => {
                then(bash);
                true
            }
            Turn::Task(task) => bashes(&mut task.turns, then),
            Turn::Together(calls) => bashes(calls, then),
            _ => false,
        };
        if done {
            return true;
        }
    }
    false
}

/// A command that outlives the tool's limit: the process that waits is below the shell, and the limit ends only the
/// shell.
fn holds(bash: &mut Bash, waits: Waits) {
    bash.tool.kills = Some(Kills::Child);
    bash.tool.waits_for = Some(WaitsFor::Pipes);
    let held = match waits {
        Waits::Stdin => {
            bash.tool.stdin = Some(ChildStdin::Pipe);
            Step::Run(vec![Step::ReadStdin])
        }
        Waits::Tty => {
            bash.tool.new_session = Some(false);
            Step::Run(vec![Step::AskTty("Password: ".to_owned())])
        }
        Waits::Lock => Step::Run(super::waits::waits_for_lock()),
        Waits::Background => {
            let name = "left-behind".to_owned();
            let left = json!({"name": name, "does": ["hold"]});
            made(left).map_or(Step::Hold, Step::Background)
        }
        _ => Step::Run(vec![Step::Hold]),
    };
    bash.does.push(held);
}

/// How many tool calls there are up to the last one at the root's or the deepest level, in the order in which they begin.
fn calls_before_last(turns: &[Turn]) -> u32 {
    fn walk(turns: &[Turn]) -> u32 {
        turns
            .iter()
            .map(|turn| match turn {
                Turn::Task(task) => 1 + walk(&task.turns),
                Turn::Together(calls) => walk(calls),
                Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) => 1,
                _ => 0,
            })
            .sum()
    }
    // a task whose own turns are over hangs itself: it began before them
    match turns.last() {
        Some(Turn::Task(task)) => walk(&turns[..turns.len() - 1]) + 1 + open_task(&task.turns),
        _ => walk(turns).max(1),
    }
}

fn open_task(turns: &[Turn]) -> u32 {
    match turns.last() {
        Some(Turn::Bash(_) | Turn::Permit(_)) => calls_before_last(turns),
        _ => 0,
    }
}

/// The number of the response that stalls, and after how many of its chunks. It is the last of the deepest session that
/// is at work; if nothing of it has come, it is the next one.
fn stalled(turns: &[Turn], partial: bool) -> (u32, u32) {
    fn walk(turns: &[Turn], partial: bool) -> (u32, u32) {
        let all = responses(turns);
        let mut before = 0;
        for (i, response) in all.iter().enumerate() {
            before += 1;
            let last = i + 1 == all.len();
            if let (true, Some(Turn::Task(task))) = (last, response.parts.last()) {
                let (inner, after) = walk(&task.turns, partial);
                return (before + inner, after);
            }
            for part in &response.parts {
                if let Turn::Task(task) = part {
                    before += total(&task.turns);
                }
            }
            let words = response.parts.iter().filter(|part| matches!(part, Turn::Say(_))).count();
            let calls = response.parts.iter().any(|p| !matches!(p, Turn::Say(_) | Turn::Think(_) | Turn::Compact(_)));
            if last && partial && words > 0 && !calls {
                return (before, u32::try_from(words).unwrap_or(1));
            }
        }
        (before + 1, 0)
    }
    fn total(turns: &[Turn]) -> u32 {
        let inner = |part: &Turn| if let Turn::Task(task) = part { total(&task.turns) } else { 0 };
        responses(turns).iter().map(|r| 1 + r.parts.iter().map(inner).sum::<u32>()).sum()
    }
    walk(turns, partial)
}
