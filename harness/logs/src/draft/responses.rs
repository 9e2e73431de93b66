//! The responses of a log's sessions, and the turns that they become.
//!
//! Invariant: what hangs is kept whatever the limit on turns, and of the rest the oldest is removed first.

use super::Drafter;
use crate::commands;
use crate::guess::{End, Hang};
use crate::limits;
use crate::note::{Asks, Calls, Kind};
use crate::story::{Call, What};
use rehang_scenario::Span;
use rehang_scenario::turns::{Bash, BashTool, Choice, Finish, Permit, Question, Step, Task, Turn};

/// A model response, from the log.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub(super) message: String,
    pub(super) gap: u64,
    pub(super) said: Vec<String>,
    pub(super) calls: Vec<(&'a Call, Vec<Group<'a>>)>,
    pub(super) ended: Option<String>,
    pub(super) needed: bool,
}

impl<'a> Drafter<'a> {
    /// The responses of a session, from its steps.
    pub(super) fn groups(&mut self, session: &str, depth: usize) -> Vec<Group<'a>> {
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
    pub(super) fn hangs(&self, call: &Call) -> bool {
        match &self.guess.hang {
            Hang::Ask(at) => self.story.asks[*at].call.as_deref() == Some(&call.id),
            Hang::Call { call: id, .. } | Hang::Bash { call: id, .. } | Hang::Tool { call: id } => *id == call.id,
            _ => false,
        }
    }

    /// Leaves out what is oldest and not needed, until at most `turns` turns are left.
    pub(super) fn shrink(&mut self, groups: &mut Vec<Group<'a>>, turns: usize) {
        while count(groups, false) > turns {
            if !self.drop_oldest(groups, true) && !self.drop_words(groups) {
                break;
            }
        }
    }

    /// Drops the oldest response that is not needed; if nothing hangs, the last one of the root is needed.
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

    pub(super) fn text(&mut self, text: &str) -> String {
        self.mask.shown(text, limits::SHOWN_CHARS)
    }

    /// The turns of responses. Gaps are written down if they do not make the file too long.
    pub(super) fn turns(&mut self, groups: &[Group<'a>], gaps: bool) -> Vec<Turn> {
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
                    // words alone end a turn; a response after them was asked for by something else
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
            Some((name, Vec::new()))
        });
        let by_hand = matches!(&self.guess.hang, Hang::Call { call: id, permission: true } if *id == call.id);
        match &call.does {
            // a release that has no such tool refuses it without asking anybody
            Calls::Ask(questions)
                if self.story.agent.kind == Kind::Opencode
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
                    command: self.text(commands::in_shell(command)),
                    asks: permission.map(|(name, _)| self.permission(&name)),
                    does: Vec::new(),
                    timeout: timeout_ms.filter(|ms| *ms > 0 && *ms <= limits::GAP_MAX_MS).map(Span::ms),
                    tool: BashTool::default(),
                };
                let denied = bash.asks.is_some()
                    && call.told.as_ref().is_some_and(|told| told.error)
                    && call.told.as_ref().is_some_and(|t| t.code.is_none());
                match &call.told {
                    Some(told) if told.stopped => bash.does.push(Step::Hold),
                    None if self.guess.end == End::Stopped => bash.does.push(Step::Hold),
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
                        let (tool, permission) = (self.text(name).to_lowercase(), self.permission(&permission));
                        Turn::Permit(Permit { tool, permission, patterns, output: self.text(&output) })
                    }
                    // no process and no permission: it becomes a command that is never run
                    None => {
                        let does = self.printed(&output, false);
                        let command = self.text(&format!("{name} {on}"));
                        Turn::Bash(Bash { command, asks: None, does, timeout: None, tool: BashTool::default() })
                    }
                }
            }
        }
    }

    /// The open ask, if the log does not show the call that asks.
    pub(super) fn without_call(&mut self) -> Option<Turn> {
        let Hang::Ask(at) = self.guess.hang else { return None };
        if self.asks.contains(&at) {
            return None;
        }
        self.asks.push(at);
        let ask = &self.story.asks[at];
        let turn = match &ask.asks {
            Asks::Questions(questions) => Turn::Ask(self.questions(questions)),
            Asks::Permission { permission, patterns } => Turn::Permit(Permit {
                tool: self.text(permission),
                permission: self.permission(permission),
                patterns: patterns.iter().map(|p| self.text(p)).collect(),
                output: String::new(),
            }),
        };
        let child = self.story.depth(&ask.session) > 0;
        Some(if child { Turn::Task(Task { description: "a task".to_owned(), turns: vec![turn] }) } else { turn })
    }

    /// What is to be permitted, as the log names it; a command if it names nothing visible.
    fn permission(&mut self, name: &str) -> String {
        let name = self.text(name);
        if name.is_empty() { "bash".to_owned() } else { name }
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
}

/// How many turns these are, with those of subagents.
pub(super) fn count(groups: &[Group<'_>], gaps: bool) -> usize {
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
