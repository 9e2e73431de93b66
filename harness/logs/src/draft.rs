//! From a story and a guess to a scenario that does the same, small enough to read.
//!
//! Invariants: what hangs is kept whatever the limit on turns, and the oldest of the rest goes first; every text has been
//! masked; a control arm differs in what it is about alone.

use crate::commands::Waits;
use crate::guess::{End, Guess, Hang, span, words};
use crate::limits;
use crate::mask::Mask;
use crate::note::{Asks, Calls, Fork, Form, Kind, Reply};
use crate::program;
use crate::story::{Ask, Call, Post, Story, What};
use rehang_scenario::mechanism::mechanism;
use rehang_scenario::playable::{CLAUDE_RELEASES, OPENCODE_RELEASES};
use rehang_scenario::turns::{
    Bash, BashTool, ChildStdin, Choice, Finish, Kills, Permit, Question, Step, Task, Turn, WaitsFor, responses,
};
use rehang_scenario::{
    Agent, Altimate, Claude, ClaudeMode, Client, Does, EventDoes, EventFault, Expect, Expected, Fault, Malformed,
    ModelDoes, Opencode, OpencodeMode, Pawwork, Person, PostDoes, PostFault, ProcessDoes, Scenario, Sees, Span,
    Terminal, ToolDoes, ToolFault, Via,
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
    let mut draft = match (story.kind, story.root()) {
        (Kind::Claude | Kind::Opencode, Some(root)) => {
            Drafter { story, guess, mask, root, asks: Vec::new(), left_out: 0 }.draft(turns)?
        }
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

/// The rules of a drafted scenario: what `none` does, and the rest. `blocked_on` is what a run of it has shown, if one has.
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
    if matches!(scenario.agent, Agent::Program(_)) {
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
    let of = match story.kind {
        Kind::Claude => "Claude Code",
        Kind::Opencode => "opencode",
        Kind::Codex => "Codex",
        Kind::Program => "A program",
    };
    let call = |id: &str| story.find_call(id).map(|(_, call)| words(&call.does)).unwrap_or_default();
    match (&guess.hang, guess.end) {
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
            let last = story.printed.iter().rev().map(|l| l.text.trim()).find(|l| !l.is_empty()).unwrap_or("nothing");
            format!("{of} says no more behind: {}", short(last))
        }
        (Hang::None | Hang::Restart { .. }, End::Completed) => format!("{of} completes, as its log shows"),
        (Hang::Failed { .. }, _) | (Hang::None, End::Failed) => format!("{of} fails, as its log shows"),
        (Hang::None | Hang::Restart { .. }, _) => format!("{of} is stopped, as its log shows"),
    }
}

fn about(story: &Story, guess: &Guess, left_out: u64, mask: &mut Mask) -> String {
    let mut text = format!("Imported from a log. Taken for {}", guess.mechanism);
    if let Some(known) = mechanism(guess.mechanism) {
        text.push_str(&format!(" ({})", known.name));
    }
    text.push_str(&format!(": {}.", guess.why.join("; ")));
    if story.timed && guess.end == End::Hung {
        let until = story.material.saturating_sub(story.first.unwrap_or(story.material));
        let silent = story.last.saturating_sub(story.material);
        text.push_str(&format!(" Progress ended {} after the log's begin, with {}", span(until), story.material_is));
        text.push_str(&if silent > 0 { format!("; the log goes on for {}.", span(silent)) } else { ".".to_owned() });
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

/// A model response, from the log.
#[derive(Default)]
struct Group<'a> {
    message: String,
    gap: u64,
    said: Vec<String>,
    calls: Vec<(&'a Call, Vec<Group<'a>>)>,
    ended: Option<String>,
    needed: bool,
}

impl<'a> Drafter<'a> {
    fn draft(mut self, turns: usize) -> Option<Draft> {
        let mut groups = self.groups(self.root, 0);
        if matches!(self.guess.hang, Hang::Model { cuts: true, .. }) {
            // those that say nothing are what the fault makes of them
            groups.retain(|group| !group.said.is_empty() || !group.calls.is_empty());
        }
        self.shrink(&mut groups, turns.max(1));
        let gaps = count(&groups, true) <= turns;
        let (agent, terminals) = self.agent();
        let mut scenario = blank(agent, terminals)?;
        scenario.args = self.args();
        scenario.turns = self.turns(&groups, gaps);
        scenario.people = self.people();
        let mut control = scenario.clone();
        self.hang(&mut scenario, &mut control, &groups);
        let hangs = self.guess.end == End::Hung;
        Some(Draft { scenario, control: hangs.then_some(control), left_out: self.left_out })
    }

    /// The responses of a session, from its steps.
    fn groups(&mut self, session: &str, depth: usize) -> Vec<Group<'a>> {
        let Some(of) = self.story.sessions.get(session) else { return Vec::new() };
        self.left_out += of.before;
        let mut groups: Vec<Group<'a>> = Vec::new();
        for step in &of.steps {
            let new = groups.last().is_none_or(|group| group.message != step.message || group.ended.is_some());
            if new {
                groups.push(Group { message: step.message.clone(), gap: step.gap, ..Group::default() });
            }
            let Some(group) = groups.last_mut() else { continue };
            match &step.what {
                What::Said { text, .. } if text.is_empty() => {}
                What::Said { text, .. } => group.said.push(text.clone()),
                What::Called(call) => {
                    let child = self.story.child_of(call).filter(|child| *child != session && depth < 6);
                    let below = child.map(|child| self.groups(child, depth + 1)).unwrap_or_default();
                    group.needed |= self.hangs(call) || below.iter().any(|group| group.needed) || call.told.is_none();
                    group.calls.push((call, below));
                }
                What::Ended(reason) => group.ended = Some(reason.clone()),
            }
        }
        groups.retain(|group| !group.said.is_empty() || !group.calls.is_empty() || group.ended.is_some());
        groups
    }

    /// Whether what hangs is this call.
    fn hangs(&self, call: &Call) -> bool {
        match &self.guess.hang {
            Hang::Ask(at) => self.story.asks[*at].call.as_deref() == Some(&call.id),
            Hang::Call { call: id, .. } | Hang::Bash { call: id, .. } | Hang::Tool { call: id } => *id == call.id,
            _ => false,
        }
    }

    /// Leaves out what is oldest and not needed, until no more than so many turns are left.
    fn shrink(&mut self, groups: &mut Vec<Group<'a>>, turns: usize) {
        while count(groups, false) > turns {
            if !self.drop_oldest(groups, true) && !self.drop_words(groups) {
                break;
            }
        }
    }

    /// Drops the oldest response that is not needed; the last of the root is, where nothing hangs.
    fn drop_oldest(&mut self, groups: &mut Vec<Group<'a>>, root: bool) -> bool {
        let last = groups.len().saturating_sub(1);
        let keep_last = root
            && matches!(
                self.guess.hang,
                Hang::None | Hang::Failed { .. } | Hang::Model { .. } | Hang::Idle | Hang::Post { .. }
            );
        // the latest of a subagent that is still at work
        let at = groups.iter().position(|g| !g.needed);
        let at = at.filter(|&at| at < last || !keep_last);
        if let Some(at) = at {
            let group = groups.remove(at);
            self.left_out += steps(&group);
            return true;
        }
        for group in groups.iter_mut() {
            for (_, below) in &mut group.calls {
                if self.drop_oldest(below, false) {
                    return true;
                }
            }
            // of several calls at once, those that are over
            let over = group
                .calls
                .iter()
                .position(|(call, below)| call.told.is_some() && !self.hangs(call) && !below.iter().any(|g| g.needed));
            if let Some(over) = over.filter(|_| group.calls.len() > 1) {
                group.calls.remove(over);
                self.left_out += 1;
                return true;
            }
        }
        false
    }

    fn drop_words(&mut self, groups: &mut [Group<'a>]) -> bool {
        for group in groups.iter_mut() {
            if !group.said.is_empty() && !group.calls.is_empty() {
                group.said.clear();
                self.left_out += 1;
                return true;
            }
            for (_, below) in &mut group.calls {
                if self.drop_words(below) {
                    return true;
                }
            }
        }
        false
    }

    fn text(&mut self, text: &str) -> String {
        self.mask.shown(text, limits::SHOWN_CHARS)
    }

    /// The turns of responses. Gaps are written down where they do not make it too long.
    fn turns(&mut self, groups: &[Group<'a>], gaps: bool) -> Vec<Turn> {
        let mut turns = Vec::new();
        for (i, group) in groups.iter().enumerate() {
            if gaps && (limits::GAP_MS..=limits::GAP_MAX_MS).contains(&group.gap) {
                turns.push(Turn::Think(Span::ms(group.gap)));
            }
            if !group.said.is_empty() {
                let said = self.text(&group.said.concat());
                if !said.trim().is_empty() {
                    turns.push(Turn::Say(said));
                }
            }
            let mut calls: Vec<Turn> = group.calls.iter().map(|(call, below)| self.call(call, below, gaps)).collect();
            match calls.len() {
                0 => {
                    let finish = match group.ended.as_deref() {
                        Some("unknown" | "other") => Some(Finish::Unknown),
                        Some("tool-calls" | "tool_use") => Some(Finish::ToolCalls),
                        _ => None,
                    };
                    // words alone end a turn; a response behind them was asked for by something else
                    if let Some(finish) = finish.filter(|_| i + 1 < groups.len()) {
                        turns.push(Turn::Finish(finish));
                    }
                }
                1 => turns.append(&mut calls),
                _ => turns.push(Turn::Together(calls)),
            }
        }
        turns
    }

    fn call(&mut self, call: &Call, below: &[Group<'a>], gaps: bool) -> Turn {
        let asked = self.story.asks.iter().position(|ask| ask.call.as_deref() == Some(&call.id));
        self.asks.extend(asked);
        let began = self.story.sessions.values().flat_map(|s| &s.steps);
        let began = began.filter(|s| matches!(&s.what, What::Called(c) if c.id == call.id)).map(|s| s.at).next();
        let output = call.told.as_ref().map(|told| told.text.clone()).unwrap_or_default();
        let permission = asked.and_then(|at| match &self.story.asks[at].asks {
            Asks::Permission { permission, patterns } => Some((permission.clone(), patterns.clone())),
            Asks::Questions(_) => None,
        });
        let permission = permission.or_else(|| {
            let name = call.permission.clone()?;
            Some((if name.is_empty() { "bash".to_owned() } else { name }, Vec::new()))
        });
        let by_hand = matches!(&self.guess.hang, Hang::Call { call: id, permission: true } if *id == call.id);
        match &call.does {
            // a release that has no such tool refuses it without asking anybody
            Calls::Ask(questions)
                if self.story.kind == Kind::Opencode
                    && asked.is_none()
                    && call.told.as_ref().is_some_and(|told| told.error) =>
            {
                let command = self.text(&format!("question: {}", questions.first().map_or("", |q| &q.question)));
                let does = self.printed(&output, false);
                Turn::Bash(Bash { command, asks: None, does, timeout: None, tool: BashTool::default() })
            }
            Calls::Ask(questions) => Turn::Ask(self.questions(questions)),
            Calls::Task { description, .. } => {
                let description = self.text(description);
                Turn::Task(Task { description, turns: self.turns(below, gaps) })
            }
            Calls::Bash { command, timeout_ms } => {
                let waited = asked.and_then(|at| self.story.asks[at].end.as_ref()).map(|(at, _)| *at);
                let ran =
                    call.told.as_ref().map_or(0, |told| told.at.saturating_sub(waited.or(began).unwrap_or(told.at)));
                let mut bash = Bash {
                    command: self.text(command),
                    asks: permission.map(|(name, _)| name),
                    does: Vec::new(),
                    timeout: timeout_ms.filter(|ms| *ms > 0 && *ms <= limits::GAP_MAX_MS).map(Span::ms),
                    tool: BashTool::default(),
                };
                let denied = bash.asks.is_some()
                    && call.told.as_ref().is_some_and(|told| told.error)
                    && call.told.as_ref().is_some_and(|t| t.code.is_none());
                match &call.told {
                    Some(told) if told.stopped => bash.does.push(Step::Hold),
                    Some(told) if !denied => {
                        if (limits::GAP_MS..=limits::GAP_MAX_MS).contains(&ran) {
                            bash.does.push(Step::Sleep(Span::ms(ran)));
                        }
                        bash.does.extend(self.printed(&output, told.error));
                        if let Some(code) = told.code.filter(|code| *code != 0) {
                            bash.does.push(Step::Exit(u8::try_from(code & 0xff).unwrap_or(1)));
                        }
                    }
                    _ => {}
                }
                Turn::Bash(bash)
            }
            Calls::Tool { name, on } => {
                match permission.or_else(|| by_hand.then(|| (crate::read::claude::permission(name), Vec::new()))) {
                    Some((permission, patterns)) => {
                        let patterns = if patterns.is_empty() { vec![on.clone()] } else { patterns };
                        let patterns = patterns.iter().map(|p| self.text(p)).collect();
                        let tool = self.text(&name.to_lowercase());
                        Turn::Permit(Permit { tool, permission, patterns, output: self.text(&output) })
                    }
                    // no process and no permission: a command stands for it, which nobody runs
                    None => {
                        let does = self.printed(&output, false);
                        let command = self.text(&format!("{name} {on}"));
                        Turn::Bash(Bash { command, asks: None, does, timeout: None, tool: BashTool::default() })
                    }
                }
            }
        }
    }

    /// The first and the last lines of an output.
    fn printed(&mut self, output: &str, error: bool) -> Vec<Step> {
        let masked = self.mask.text(output);
        let mut lines: Vec<&str> = masked.lines().filter(|line| !line.trim().is_empty()).collect();
        if error && lines.first().is_some_and(|line| line.starts_with("Exit code ")) {
            lines.remove(0);
        }
        let cut = lines.len() > 3;
        if cut {
            lines = vec![lines[0], "…", lines[lines.len() - 1]];
        }
        lines.into_iter().map(|line| Step::Print(self.mask.shown(line, 120))).collect()
    }

    fn questions(&mut self, questions: &[Question]) -> Vec<Question> {
        questions
            .iter()
            .map(|question| Question {
                question: self.text(&question.question),
                header: self.text(&question.header),
                options: question
                    .options
                    .iter()
                    .map(|o| Choice { label: self.text(&o.label), description: self.text(&o.description) })
                    .collect(),
                multiple: question.multiple,
                custom: question.custom,
            })
            .collect()
    }

    fn via(&self) -> Via {
        match (self.story.kind, self.interactive()) {
            (_, true) => Via::Tty,
            (Kind::Claude, _) => Via::Stdin,
            _ => Via::Http,
        }
    }

    /// A session that somebody sat before, as far as the log shows.
    fn interactive(&self) -> bool {
        let waits = matches!(self.guess.hang, Hang::Ask(_) | Hang::Call { .. });
        self.story.kind == Kind::Claude && self.story.form == Form::Transcript && waits
    }

    /// Who ended the asks that are kept, and who stopped it.
    fn people(&mut self) -> Vec<Person> {
        let via = self.via();
        let http = via == Via::Http;
        let tree = self.asks.iter().any(|&at| self.story.depth(&self.story.asks[at].session) > 0);
        let sees = http.then_some(if tree { Sees::Tree } else { Sees::Events });
        let mut people = Vec::new();
        if self.story.kind == Kind::Opencode && self.story.form == Form::Once {
            return people;
        }
        for (number, &at) in self.asks.clone().iter().enumerate() {
            let ask = &self.story.asks[at];
            if let Some((end, does)) = ask.end.as_ref().and_then(|(end, how)| Some((*end, self.does(ask, how)?))) {
                let after = Span::ms(end.saturating_sub(ask.at).min(limits::GAP_MAX_MS));
                let ask = if self.asks.len() > 1 { u32::try_from(number + 1).unwrap_or(1) } else { 0 };
                people.extend(person(via, sees, ask, after, does));
            }
        }
        people.extend(self.breaks_off(via));
        let of_root = |session: &str| session.is_empty() || self.story.root_of(session) == self.root;
        if let Some((at, _)) = self.story.stopped.as_ref().filter(|(_, session)| of_root(session)) {
            let open = self.asks.iter().position(|&ask| {
                self.story.asks[ask].end.as_ref().is_none_or(|(end, how)| *end >= *at && *how == Reply::Withdrawn)
            });
            let stops = match open {
                Some(place) => {
                    let asked = self.story.asks[self.asks[place]].at;
                    let ask = if self.asks.len() > 1 { u32::try_from(place + 1).unwrap_or(1) } else { 0 };
                    let after = Span::ms(at.saturating_sub(asked).min(limits::GAP_MAX_MS));
                    person(via, sees, ask, after, Does::Stop)
                }
                None => {
                    let after =
                        Span::ms(at.saturating_sub(self.story.first.unwrap_or(*at)).clamp(1, limits::GAP_MAX_MS));
                    person(via, Some(Sees::Clock), 0, after, Does::Stop)
                }
            };
            people.extend(stops);
        }
        people
    }

    /// Whoever closed the agent's stdin, or sent what is no message, while something was asked.
    fn breaks_off(&self, via: Via) -> Option<Person> {
        let story = self.story;
        let (at, does) = match (story.misfit, story.input_ended) {
            (Some(at), _) => (at, Does::Malformed(Malformed::Syntax)),
            (None, Some(at)) => (at, Does::HangUp),
            (None, None) => return None,
        };
        let place = self.asks.iter().position(|&ask| story.asks[ask].at <= at && story.asks[ask].open_until(at))?;
        let asked = story.asks[self.asks[place]].at;
        let ask = if self.asks.len() > 1 { u32::try_from(place + 1).unwrap_or(1) } else { 0 };
        let after = Span::ms(at.saturating_sub(asked).min(limits::GAP_MAX_MS));
        (via == Via::Stdin).then(|| person(via, None, ask, after, does)).flatten()
    }

    fn does(&mut self, ask: &Ask, how: &Reply) -> Option<Does> {
        Some(match how {
            Reply::Answers(answers) => {
                let answers: Vec<Vec<String>> =
                    answers.iter().map(|labels| labels.iter().map(|label| self.text(label)).collect()).collect();
                let single = answers.iter().all(|labels| labels.len() == 1);
                match single {
                    true => Does::Answer(answers.into_iter().flatten().collect()),
                    false => Does::Answers(answers),
                }
            }
            Reply::Allowed => Does::Allow,
            Reply::Always => Does::Always,
            Reply::Denied => Does::Deny,
            Reply::Skipped => Does::Skip,
            Reply::Dismissed => Does::Dismiss,
            Reply::Withdrawn => return None,
        })
        .filter(|_| !ask.id.is_empty())
    }

    fn agent(&self) -> (Agent, Vec<Terminal>) {
        let story = self.story;
        let release = |known: &[&str], default: &str| nearest(story.release.as_deref(), known, default);
        if story.kind == Kind::Claude {
            let (mode, terminal) = match story.form {
                _ if self.interactive() => (ClaudeMode::Interactive, Terminal::Tty),
                Form::Host => (ClaudeMode::StreamJson, Terminal::Pipe),
                Form::Text => (ClaudeMode::Print, Terminal::Null),
                _ if self.waits_for_host() => (ClaudeMode::StreamJson, Terminal::Pipe),
                _ => (ClaudeMode::Json, Terminal::Null),
            };
            let tty = matches!(self.guess.hang, Hang::Bash { waits: Waits::Tty, .. });
            let release = release(&CLAUDE_RELEASES, "2.0.77");
            return (Agent::Claude(Claude { release, mode }), vec![if tty { Terminal::Tty } else { terminal }]);
        }
        let mode = if story.form == Form::Once { OpencodeMode::Run } else { OpencodeMode::Serve };
        let events = story.post == Post::Events || self.guess.hang == Hang::Idle;
        let client = match events && mode == OpencodeMode::Serve {
            true if story.resyncs => Client::Resync,
            true => Client::Events,
            false => Client::Post,
        };
        let tty = matches!(self.guess.hang, Hang::Bash { waits: Waits::Tty, .. });
        let terminal = if tty { Terminal::Tty } else { Terminal::Null };
        match story.fork() {
            Some(Fork::Altimate) => {
                return (Agent::Altimate(Altimate { mode, client, ..Altimate::default() }), vec![terminal]);
            }
            Some(Fork::Pawwork) => {
                return (Agent::Pawwork(Pawwork { client, ..Pawwork::default() }), vec![terminal]);
            }
            None => {}
        }
        let release = release(&OPENCODE_RELEASES, "1.2.15");
        (Agent::Opencode(Opencode { release, mode, client }), vec![terminal])
    }

    /// Whether the agent waits for a program that answers its asks: without one it would have refused them itself.
    fn waits_for_host(&self) -> bool {
        let asks = match self.guess.hang {
            Hang::Ask(_) => self.story.prompt_tool,
            Hang::Call { .. } => true,
            _ => false,
        };
        asks && self.story.kind == Kind::Claude && self.story.form == Form::Once
    }

    fn args(&self) -> Vec<String> {
        let story = self.story;
        let mut args = Vec::new();
        if story.kind != Kind::Claude {
            return args;
        }
        if story.prompt_tool && story.form == Form::Host || self.waits_for_host() {
            args.extend(["--permission-prompt-tool".to_owned(), "stdio".to_owned()]);
        }
        match story.mode.as_deref() {
            Some("bypassPermissions") => args.push("--dangerously-skip-permissions".to_owned()),
            Some(mode @ ("acceptEdits" | "plan" | "dontAsk")) => {
                args.extend(["--permission-mode".to_owned(), mode.to_owned()]);
            }
            _ => {}
        }
        args
    }

    /// The time between the last two responses of a session, in milliseconds.
    fn ends_every(&self, session: &str) -> u64 {
        let steps = self.story.sessions.get(session).into_iter().flat_map(|s| s.steps.iter().rev());
        let mut ends = steps.filter(|step| matches!(step.what, What::Ended(_))).map(|step| step.at);
        let last = ends.next().unwrap_or_default();
        ends.next().map_or(0, |before| last.saturating_sub(before))
    }

    /// Makes the main arm hang, and the control arm not.
    fn hang(&mut self, scenario: &mut Scenario, control: &mut Scenario, groups: &[Group<'a>]) {
        let run = matches!(&scenario.agent, Agent::Opencode(o) if o.mode == OpencodeMode::Run);
        let via = self.via();
        match &self.guess.hang {
            Hang::None if self.guess.end == End::Stopped && self.story.stopped_at_model => {
                let (response, after) = stalled(&scenario.turns, false);
                model_fault(scenario, response, after, ModelDoes::Stall);
            }
            Hang::None => {}
            Hang::Failed { cut: true, .. } => {
                let words = scenario.turns.iter().filter(|turn| matches!(turn, Turn::Say(_))).count().max(1);
                model_fault(scenario, 0, u32::try_from(words).unwrap_or(1), ModelDoes::Truncate);
            }
            Hang::Failed { status, .. } => {
                let (response, _) = stalled(&scenario.turns, false);
                let does = ModelDoes::Status(status.unwrap_or(400).clamp(400, 599));
                // a server that is busy is asked again, and has to refuse then too
                let response = if matches!(status, Some(429 | 500..)) { 0 } else { response };
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
                // somebody answers behind it: too late in the one arm alone
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
                if let Some(status) = refuses {
                    let status = (*status).clamp(400, 599);
                    model_fault(scenario, 0, 0, ModelDoes::Status(status));
                    return;
                }
                let partial = self.story.sessions.get(session).and_then(|s| s.steps.back());
                let partial = partial
                    .is_some_and(|step| matches!(&step.what, What::Said { text, .. } if !text.trim().is_empty()));
                let (response, after) = stalled(&scenario.turns, partial && !groups.is_empty());
                model_fault(scenario, response, after, ModelDoes::Stall);
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

/// How long the one who answers in a control arm takes. A choice.
const ANSWERS_AFTER: Span = Span::secs(2);

/// What ends the last ask: the first label of each question, or leave.
fn first_answer(turns: &[Turn]) -> Does {
    let first = |q: &Question| q.options.first().map_or_else(|| "Yes".to_owned(), |o| o.label.clone());
    match last_call(turns) {
        Some(Turn::Ask(questions)) => Does::Answer(questions.iter().map(first).collect()),
        _ => Does::Allow,
    }
}

/// How many turns these are, with those of subagents.
fn count(groups: &[Group<'_>], gaps: bool) -> usize {
    let of = |group: &Group<'_>| {
        let gap = usize::from(gaps && group.gap >= limits::GAP_MS);
        let calls: usize = group.calls.iter().map(|(_, below)| 1 + count(below, gaps)).sum();
        let together = usize::from(group.calls.len() > 1);
        gap + usize::from(!group.said.is_empty()) + calls + together
    };
    groups.iter().map(of).sum()
}

fn steps(group: &Group<'_>) -> u64 {
    let below: u64 = group.calls.iter().flat_map(|(_, below)| below).map(steps).sum();
    group.said.len() as u64 + group.calls.len() as u64 + below
}

/// The release that a fake plays and that is nearest below; the first where none is below.
fn nearest(release: Option<&str>, known: &[&str], default: &str) -> String {
    let parse = |text: &str| {
        let mut parts = text.split(['.', '-', '+']).map(|n| n.parse::<u64>().unwrap_or(0));
        [parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0)]
    };
    let Some(release) = release.map(parse).filter(|r| *r > [0, 0, 0]) else { return default.to_owned() };
    let below = known.iter().filter(|k| parse(k) <= release).max_by_key(|k| parse(k));
    below.or(known.first()).map_or_else(|| default.to_owned(), |k| (*k).to_owned())
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

/// A command that outlives the tool's limit: what waits is below the shell, and the limit ends the shell alone.
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
/// is at work; where nothing of it has come it is the one behind.
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
