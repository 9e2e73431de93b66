//! Where the engine waits for hooks, and how it goes on when they have ended.
//!
//! Invariants: all hooks of an event run at the same time, and what waits for them goes on once, when the last has
//! ended; an event without a hook waits for nothing, so that a session without hooks is as before.

use super::settings::{Event, Hook, What};
use super::texts;
use super::verdict::{HookEnd, Permission, Reason, Verdict};
use crate::claude::calls::{Call, Outcome, State};
use crate::claude::engine::{BLOCKED, Conv, Effect, Engine, Phase};
use crate::claude::release::{Release, STOPS_BLOCKED_MAX};
use crate::claude::texts::{CANCELLED, schema_order};
use crate::claude::writer::Decision;
use rehang_scenario::{Canon, VTime, canon};
use serde_json::{Value, json};
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// What a notice is about.
const ASKED: &str = "permission_prompt";

/// What waits for hooks.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::claude) enum Gate {
    /// The first turn.
    Start,
    /// A turn with this prompt.
    Prompt(Vec<Value>),
    /// A call, before its permission is decided.
    Pre(String),
    /// A call that nobody can be asked about, and why it is refused if no hook decides.
    Ask(String, String),
    /// A call that has run, with its outcome.
    Post(String, Outcome),
    /// The end of the turn, with the model's last text.
    Stop(String),
    /// The end of a subagent, with its last text.
    SubagentStop(Conv, String),
    /// The end of the process.
    End,
    /// Nothing: somebody is told of a call that is asked about.
    Notice(String),
}

impl Hash for Gate {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        discriminant(self).hash(hasher);
        match self {
            Gate::Prompt(blocks) => canon::jsons(blocks, hasher),
            gate => format!("{gate:?}").hash(hasher),
        }
    }
}

/// The hooks of a session.
#[derive(Debug, Clone, Default)]
pub(in crate::claude) struct Hooks {
    all: Vec<Hook>,
    waiting: Vec<Waiting>,
    begun: u32,
    /// The calls that are asked about, and when hooks are told of it.
    due: Vec<(VTime, String)>,
    /// How often in a row hooks have kept the turn from ending.
    stops_blocked: u32,
    /// A hook has said that the turn ends after the calls that run.
    pub ends_turn: bool,
    /// How many messages hooks have added that 1.0.128 counts as turns.
    pub added: u32,
    /// The id of the prompt that is answered; empty until a hook is told it.
    pub prompt_id: String,
}

/// Something that waits for hooks.
#[derive(Debug, Clone)]
struct Waiting {
    gate: Gate,
    running: Vec<RunningHook>,
    verdict: Verdict,
}

#[derive(Debug, Clone)]
struct RunningHook {
    id: u32,
    what: What,
    /// Its id on the wire, if it is shown there or is a callback.
    wire: String,
    shown: bool,
    /// A callback's limit; a command's is its process's.
    until: Option<VTime>,
}

impl Hooks {
    /// The hooks of the settings.
    pub fn new(all: Vec<Hook>) -> Hooks {
        Hooks { all, ..Hooks::default() }
    }

    /// Adds those of a host or of files; returns whether there are any.
    pub fn add(&mut self, release: Release, more: Vec<Hook>) -> bool {
        let some = !more.is_empty();
        self.all.extend(more.into_iter().filter(|hook| hook.is_run_by(release)));
        some
    }

    /// Whether the first turn waits.
    pub fn hold_prompts(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.gate == Gate::Start)
    }

    /// Whether the process's end waits.
    pub fn hold_end(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.gate == Gate::End)
    }

    /// Whether a turn has not begun yet.
    pub fn hold_turn(&self) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting.gate, Gate::Prompt(_)))
    }

    /// The last text of a turn whose end waits.
    pub fn hold_stop(&self) -> Option<String> {
        let text = |waiting: &Waiting| match &waiting.gate {
            Gate::Stop(text) => Some(text.clone()),
            _ => None,
        };
        self.waiting.iter().find_map(text)
    }

    /// What it waits for, in one word, if it waits for hooks.
    pub fn waits_on(&self) -> Option<&'static str> {
        let waiting = self.waiting.iter().filter(|waiting| !matches!(waiting.gate, Gate::Notice(_)));
        let running = waiting.flat_map(|waiting| &waiting.running).next()?;
        Some(if matches!(running.what, What::Callback(_)) { "message" } else { "child" })
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Hooks {
            all: _, // not compared: they are the settings', and a host names its own before its first prompt
            waiting,
            begun: _, // not compared: numbers of hooks are names, and a running one is known by its process
            due,
            stops_blocked,
            ends_turn,
            added,
            prompt_id: _, // not compared: it only names a prompt
        } = self;
        canon.num((*stops_blocked).into()).flag(*ends_turn).num((*added).into());
        canon.list(due, |canon, (at, call)| {
            canon.deadline(Some(*at)).text(call);
        });
        canon.list(waiting, |canon, Waiting { gate, running, verdict }| {
            canon.value(&(gate, verdict));
            canon.list(running, |canon, RunningHook { id, what, wire, shown, until }| {
                canon.num((*id).into()).value(&(what, wire, shown)).deadline(*until);
            });
        });
    }

    /// When the next callback is given up, or the next notice is due.
    pub fn deadline(&self) -> Option<VTime> {
        let limits = self.waiting.iter().flat_map(|waiting| &waiting.running).filter_map(|running| running.until);
        limits.chain(self.due.iter().map(|(at, _)| *at)).min()
    }
}

impl Engine {
    /// Runs the hooks of what is about to happen; returns whether there are any, so that it waits.
    pub(in crate::claude) fn hooked(&mut self, now: VTime, gate: Gate) -> bool {
        let (event, subject) = self.subject(&gate);
        let hooks: Vec<Hook> = self.hooks.all.iter().filter(|hook| hook.is_for(event, &subject)).cloned().collect();
        if hooks.is_empty() {
            return false;
        }
        if matches!(gate, Gate::Prompt(_) | Gate::Stop(_)) {
            self.convs[0].phase = Phase::Hooks;
        }
        if let Gate::Pre(call) | Gate::Ask(call, _) | Gate::Post(call, _) = &gate {
            self.set_state(call, State::Hooks);
        }
        let told = self.told(event, &gate);
        let tool_use = match &gate {
            Gate::Pre(call) | Gate::Ask(call, _) | Gate::Post(call, _) => call.clone(),
            _ => self.writer.uuid(),
        };
        let release = self.config.release;
        let usual = if event == Event::SessionEnd { release.end_hook_limit() } else { release.hook_limit() };
        let mut running = Vec::new();
        for hook in hooks {
            self.hooks.begun += 1;
            let is_check = event == Event::UserPromptSubmit && matches!(hook.what, What::Callback(_));
            let usual = release.prompt_check_limit().filter(|_| is_check).unwrap_or(usual);
            let (id, until) = (self.hooks.begun, now + hook.limit.unwrap_or(usual));
            let shown = matches!(hook.what, What::Command(_))
                && !matches!(event, Event::SessionEnd | Event::Notification)
                && self.config.release.shows_hook(event == Event::SessionStart, self.config.args.hook_events);
            let (mut wire, mut limit) = (String::new(), None);
            match &hook.what {
                What::Callback(callback) => {
                    self.counted.requests += 1;
                    wire = format!("req_{}", self.counted.requests);
                    limit = Some(until).filter(|_| self.config.release.limits_callbacks());
                    // a host that has closed its end is not asked: its callback fails at once
                    if self.stdin_open {
                        let request = self.writer.hook_callback(&wire, callback, &told, &tool_use);
                        self.effects.push(Effect::Emit(request));
                    }
                }
                What::Command(command) => {
                    if shown && self.config.release == Release::V2_1_329 {
                        wire = self.writer.uuid();
                        let started = self.writer.hook_started(&wire, &name(event, &subject), event.name());
                        self.effects.push(Effect::Emit(started));
                    }
                    let (command, told) = (Box::new(command.clone()), format!("{told}\n"));
                    self.effects.push(Effect::Hook { id, command, told, until });
                }
            }
            running.push(RunningHook { id, what: hook.what, wire, shown, until: limit });
        }
        self.hooks.waiting.push(Waiting { gate, running, verdict: Verdict::default() });
        if !self.stdin_open {
            self.callbacks_lost(now, texts::STREAM_CLOSED);
        }
        true
    }

    /// The host is asked about a call: if it does not answer in time, hooks are told.
    pub(in crate::claude) fn notice_later(&mut self, now: VTime, call: &str) {
        let (event, subject) = self.subject(&Gate::Notice(call.to_owned()));
        let heard = self.hooks.all.iter().any(|hook| hook.is_for(event, &subject));
        if let Some(after) = self.config.release.notice_after().filter(|_| heard) {
            self.hooks.due.push((now + after, call.to_owned()));
        }
    }

    /// Calls that have been asked about for long enough; one that is answered by now is not told of.
    pub(in crate::claude) fn give_notice(&mut self, now: VTime) {
        let (due, later) = std::mem::take(&mut self.hooks.due).into_iter().partition(|(at, _)| *at <= now);
        self.hooks.due = later;
        let due: Vec<(VTime, String)> = due;
        for (_, call) in due {
            let is_asked = |of: &Call| of.id == call && matches!(of.state, State::Asking(_));
            if self.calls.iter().any(is_asked) {
                self.hooked(now, Gate::Notice(call));
            }
        }
    }

    /// A hook's command has ended.
    pub fn hook_ended(&mut self, now: VTime, id: u32, end: &HookEnd) {
        let place = self
            .hooks
            .waiting
            .iter()
            .enumerate()
            .find_map(|(at, waiting)| Some((at, waiting.running.iter().position(|running| running.id == id)?)));
        let Some((at, nth)) = place else { return };
        let hook = self.hooks.waiting[at].running.remove(nth);
        let gate = self.hooks.waiting[at].gate.clone();
        let (event, subject) = self.subject(&gate);
        if hook.shown && (!end.cancelled || self.config.release == Release::V2_1_329) {
            let message = self.writer.hook_response(&hook.wire, &name(event, &subject), event.name(), end);
            self.effects.push(Effect::Emit(message));
        }
        let is_context = matches!(event, Event::SessionStart | Event::UserPromptSubmit);
        let verdict = Verdict::of(&hook.what, end, is_context);
        if end.cancelled && self.config.release == Release::V2_1_329 {
            self.gave_up(&gate, event, &hook.what);
        }
        self.hooks.waiting[at].verdict.and(verdict);
        if self.hooks.waiting[at].running.is_empty() {
            let Waiting { gate, verdict, .. } = self.hooks.waiting.remove(at);
            self.after_hooks(now, gate, verdict);
        }
    }

    /// The host's reply to a callback; returns whether there is one of this id.
    pub(in crate::claude) fn callback_replied(
        &mut self,
        now: VTime,
        request: &str,
        said: Result<&Value, &str>,
    ) -> bool {
        let Some((id, callback, gate)) = self.callback(request) else { return false };
        let (mut end, mut warning) = (HookEnd::default(), None);
        match said {
            Ok(said) => end.stdout = said.to_string(),
            Err(why) => {
                self.effects.push(Effect::Complain(texts::callback_failed(&callback, why)));
                if self.config.release == Release::V2_1_329 {
                    let (event, _) = self.subject(&gate);
                    warning = Some(texts::callback_invalid(event.name(), &callback));
                }
            }
        }
        // a turn begins before it is told of what has failed
        let is_before = matches!(gate, Gate::Prompt(_));
        if is_before {
            self.hook_ended(now, id, &end);
        }
        if let Some(warning) = warning {
            let message = self.writer.informational(&warning, Some("hook_callback_failed"), None);
            self.effects.push(Effect::Emit(message));
        }
        if !is_before {
            self.hook_ended(now, id, &end);
        }
        true
    }

    /// Callbacks whose limit has come.
    pub(in crate::claude) fn give_up_callbacks(&mut self, now: VTime) {
        let due = |running: &&RunningHook| running.until.is_some_and(|at| at <= now);
        let running = self.hooks.waiting.iter().flat_map(|waiting| &waiting.running);
        let due: Vec<(u32, String)> = running.filter(due).map(|running| (running.id, running.wire.clone())).collect();
        for (id, wire) in due {
            let cancel = self.writer.cancel(&wire);
            self.effects.push(Effect::Emit(cancel));
            self.hook_ended(now, id, &HookEnd { cancelled: true, ..HookEnd::default() });
        }
    }

    /// The host has closed its end, so that it cannot answer the callbacks that it was asked.
    pub(in crate::claude) fn callbacks_closed(&mut self, now: VTime) {
        self.callbacks_lost(now, texts::STREAM_CLOSED_EARLY);
    }

    /// The host cannot answer its callbacks any more, for this reason.
    fn callbacks_lost(&mut self, now: VTime, because: &str) {
        // nothing is said of a notice
        self.hooks.waiting.retain(|waiting| !matches!(waiting.gate, Gate::Notice(_)));
        let running = self.hooks.waiting.iter().flat_map(|waiting| &waiting.running);
        let callbacks = running.filter(|running| matches!(running.what, What::Callback(_)));
        let lost: Vec<String> = callbacks.map(|running| running.wire.clone()).collect();
        for wire in lost {
            let Some((id, callback, gate)) = self.callback(&wire) else { continue };
            if self.config.release == Release::V2_1_329
                && let Gate::Pre(call) = gate
            {
                self.hooks.waiting.retain(|waiting| waiting.gate != Gate::Pre(call.clone()));
                self.set_state(&call, State::Running);
                self.began(&call);
                let outcome = Outcome::unprefixed(CANCELLED).because(Decision::Cancelled);
                self.finish(now, &call, outcome);
                self.go_on(now, &call);
                continue;
            }
            let why = texts::callback_failed(&callback, because);
            self.effects.push(Effect::Complain(why));
            self.hook_ended(now, id, &HookEnd::default());
        }
    }

    /// An interrupt ends all hooks; returns the calls that waited for theirs, with the outcomes of those that had run.
    pub(in crate::claude) fn end_hooks(&mut self) -> Vec<(String, Option<Outcome>)> {
        let mut calls = Vec::new();
        // a notice of an ask that is taken back is not
        let is_notice = |waiting: &Waiting| matches!(waiting.gate, Gate::Notice(_));
        let (notices, ended) = std::mem::take(&mut self.hooks.waiting).into_iter().partition(is_notice);
        self.hooks.waiting = notices;
        let ended: Vec<Waiting> = ended;
        for Waiting { gate, running, .. } in ended {
            for hook in running {
                let effect = match hook.what {
                    What::Callback(_) => Effect::Emit(self.writer.cancel(&hook.wire)),
                    What::Command(_) => Effect::KillHook { id: hook.id },
                };
                self.effects.push(effect);
            }
            if let Gate::Pre(call) = &gate {
                self.began(call);
            }
            match gate {
                Gate::Pre(call) | Gate::Ask(call, _) => calls.push((call, None)),
                Gate::Post(call, outcome) => calls.push((call, Some(outcome))),
                _ => {}
            }
        }
        calls
    }

    fn callback(&self, request: &str) -> Option<(u32, String, Gate)> {
        self.hooks.waiting.iter().find_map(|waiting| {
            let running = waiting.running.iter().find(|running| running.wire == request)?;
            let What::Callback(callback) = &running.what else { return None };
            Some((running.id, callback.clone(), waiting.gate.clone()))
        })
    }

    /// 2.1.329 says that a hook of a tool did not decide; a callback's call does not run.
    fn gave_up(&mut self, gate: &Gate, event: Event, what: &What) {
        if let (Gate::Prompt(_), What::Callback(_)) = (gate, what)
            && let Some(waiting) = self.hooks.waiting.iter_mut().find(|waiting| waiting.gate == *gate)
        {
            waiting.verdict.blocks = Some(Reason { command: None, text: texts::PROMPT_CHECK_LATE.to_owned() });
        }
        let Gate::Pre(call) = gate else { return };
        match what {
            What::Command(_) => {
                let verdict = json!({"hook_event": event.name(), "tool_use_id": call, "timed_out": true});
                let message = self.writer.informational(texts::HOOK_LATE, Some("hook_no_verdict"), Some(verdict));
                self.effects.push(Effect::Emit(message));
            }
            What::Callback(_) => {
                let late = Some((Permission::Deny, texts::CALLBACK_LATE.to_owned()));
                let waiting = self.hooks.waiting.iter_mut().find(|waiting| waiting.gate == *gate);
                waiting.into_iter().for_each(|waiting| waiting.verdict.permission.clone_from(&late));
            }
        }
    }

    fn after_hooks(&mut self, now: VTime, gate: Gate, verdict: Verdict) {
        let counts = self.config.release.counts_assistant() && verdict.adds;
        match gate {
            Gate::Start => {
                self.hooks.added += u32::from(counts);
                self.pump(now);
            }
            Gate::Prompt(blocks) => {
                self.hooks.added += u32::from(counts);
                self.begin_turn(now, &blocks, verdict.blocks.as_ref());
            }
            Gate::Pre(call) => self.after_pre(now, &call, &verdict),
            Gate::Ask(call, why) => self.after_ask(now, &call, &why, &verdict),
            Gate::Post(call, outcome) => {
                self.hooks.ends_turn |= verdict.stops;
                match self.config.release {
                    // its result is on the wire already
                    Release::V1_0_128 => self.set_state(&call, State::Done),
                    _ => self.finished(&call, outcome),
                }
                self.go_on(now, &call);
            }
            Gate::Stop(text) => self.after_stop(now, &text, &verdict),
            Gate::SubagentStop(conv, text) => self.subagent_ended(now, conv, &text, false),
            Gate::End | Gate::Notice(_) => {}
        }
    }

    /// A prompt that a hook blocked: the turn ends at once. Releases before 2.1.329 do not say why.
    pub(in crate::claude) fn prompt_blocked(&mut self, now: VTime, reason: &Reason, prompt: &str) {
        self.counted.turns = 0;
        let mut said = String::new();
        if self.config.release == Release::V2_1_329 {
            let is_late = reason.text == texts::PROMPT_CHECK_LATE;
            said = texts::prompt_blocked(&reason.with_command(), (!is_late).then_some(prompt));
            let mut message = self.writer.prompt_blocked(&said, reason.text.trim_end());
            if is_late {
                message["prompt_submit_outcome"] =
                    json!({"kind": "no_verdict", "prompt_kept": false, "no_verdict_kind": "callback_timed_out"});
            }
            self.effects.push(Effect::Emit(message));
        }
        self.end_turn_as(now, Some(&said), None, Some(BLOCKED));
    }

    fn after_pre(&mut self, now: VTime, call: &str, verdict: &Verdict) {
        let release = self.config.release;
        self.hooks.ends_turn |= verdict.stops;
        self.set_state(call, State::Running);
        self.began(call);
        let Some(tool) = self.calls.iter().find(|c| c.id == call).map(|c| c.name.clone()) else { return };
        let denied = match (&verdict.blocks, &verdict.permission) {
            (Some(reason), _) => {
                let by_code = reason.command.is_some();
                Some(texts::blocked_by_hook(release, &tool, &reason.with_command(), by_code))
            }
            (None, Some((Permission::Deny, text))) if text == texts::CALLBACK_LATE => Some(text.clone()),
            (None, Some((Permission::Deny, text))) => Some(texts::blocked_by_hook(release, &tool, text, false)),
            _ => None,
        };
        match (denied, &verdict.permission) {
            (Some(why), _) => {
                let late = why == texts::CALLBACK_LATE;
                let outcome = Outcome::error(&why);
                if release == Release::V2_1_329 && !late {
                    self.denied(call);
                    self.finish(now, call, outcome.because(Decision::RefusedByHook));
                } else {
                    self.finish(now, call, outcome);
                }
            }
            (None, Some((Permission::Allow, _))) => self.run(now, call, Decision::ByHook),
            (None, Some((Permission::Ask, why))) if release == Release::V2_1_329 => self.asked_by_hook(now, call, why),
            _ => self.enter(now, call),
        }
        self.go_on(now, call);
    }

    /// A call that nobody could be asked about but a hook.
    fn after_ask(&mut self, now: VTime, call: &str, why: &str, verdict: &Verdict) {
        self.set_state(call, State::Running);
        match &verdict.permission {
            Some((Permission::Allow, _)) => self.run(now, call, Decision::ByHook),
            Some((Permission::Deny, why)) => self.refuse(now, call, why, ("hook", Decision::RefusedByHook)),
            _ => self.refuse(now, call, why, ("other", Decision::RefusedByConfig)),
        }
        self.go_on(now, call);
    }

    fn after_stop(&mut self, now: VTime, text: &str, verdict: &Verdict) {
        let Some(reason) = &verdict.blocks else {
            self.hooks.stops_blocked = 0;
            return self.end_turn(now, Some(text), None);
        };
        self.hooks.stops_blocked += 1;
        let newest = self.config.release == Release::V2_1_329;
        let feedback = texts::stop_feedback(self.config.release, &reason.with_command());
        let message = self.writer.note(&feedback, self.config.release > Release::V1_0_128);
        self.effects.push(Effect::Emit(message));
        self.count_user(Conv(0));
        if newest && self.hooks.stops_blocked == 1 {
            let notice = self.writer.stop_hook_problem(texts::STOP_HOOK_PROBLEM);
            self.effects.push(Effect::Emit(notice));
        }
        if newest && self.hooks.stops_blocked > STOPS_BLOCKED_MAX {
            let why = texts::stop_cap(self.hooks.stops_blocked);
            self.hooks.stops_blocked = 0;
            let warning = self.writer.informational(&why, None, None);
            let notice = self.writer.stop_hook_cap(&why);
            self.effects.extend([Effect::Emit(warning), Effect::Emit(notice)]);
            return self.end_turn(now, Some(""), None);
        }
        self.convs[0].phase = Phase::Idle;
        self.tell(now, Conv(0), &feedback);
    }

    /// The event of a gate, and what a matcher is compared with.
    fn subject(&self, gate: &Gate) -> (Event, String) {
        let tool = |call: &str| self.calls.iter().find(|c| c.id == call).map_or(String::new(), |c| c.name.clone());
        match gate {
            Gate::Start => (Event::SessionStart, "startup".to_owned()),
            Gate::Prompt(_) => (Event::UserPromptSubmit, String::new()),
            Gate::Pre(call) => (Event::PreToolUse, tool(call)),
            Gate::Ask(call, _) => (Event::PermissionRequest, tool(call)),
            Gate::Post(call, _) => (Event::PostToolUse, tool(call)),
            Gate::Stop(_) => (Event::Stop, String::new()),
            Gate::SubagentStop(..) => (Event::SubagentStop, String::new()),
            Gate::End => (Event::SessionEnd, "other".to_owned()),
            Gate::Notice(_) => (Event::Notification, ASKED.to_owned()),
        }
    }

    /// What a hook is told.
    fn told(&mut self, event: Event, gate: &Gate) -> Value {
        let in_turn = !matches!(gate, Gate::Start | Gate::End);
        if self.hooks.prompt_id.is_empty() && in_turn && self.config.release == Release::V2_1_329 {
            self.hooks.prompt_id = self.writer.uuid();
        }
        let mut told = self.writer.hook_input(event.name(), self.mode, &self.hooks.prompt_id);
        let mut add = |key: &str, value: Value| told[key] = value;
        let call = |id: &str| self.calls.iter().find(|c| c.id == *id);
        match gate {
            Gate::Start => add("source", json!("startup")),
            Gate::Prompt(blocks) => {
                let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                add("prompt", json!(texts.join("\n")));
            }
            Gate::Ask(id, _) => {
                if let Some(call) = call(id) {
                    add("tool_name", json!(call.name));
                    add("tool_input", schema_order(&call.input));
                }
            }
            Gate::Pre(id) | Gate::Post(id, _) => {
                if let Some(call) = call(id) {
                    add("tool_name", json!(call.name));
                    add("tool_input", schema_order(&call.input));
                }
                if let Gate::Post(_, outcome) = gate {
                    add("tool_response", outcome.shown());
                }
                if self.config.release > Release::V1_0_128 {
                    add("tool_use_id", json!(id));
                }
                if matches!(gate, Gate::Post(..)) && self.config.release == Release::V2_1_329 {
                    // a constant: the real time would make every state new
                    add("duration_ms", json!(0));
                }
            }
            Gate::Stop(text) | Gate::SubagentStop(_, text) => {
                add("stop_hook_active", json!(self.hooks.stops_blocked > 0));
                if self.config.release == Release::V2_1_329 {
                    add("last_assistant_message", json!(text));
                    add("background_tasks", json!([]));
                    add("session_crons", json!([]));
                }
            }
            Gate::End => add("reason", json!("other")),
            Gate::Notice(id) => {
                let tool = call(id).map(|call| call.name.as_str()).unwrap_or_default();
                add("message", json!(texts::asked_about(tool)));
                add("notification_type", json!(ASKED));
            }
        }
        told
    }
}

/// A hook's name on the wire.
fn name(event: Event, subject: &str) -> String {
    if subject.is_empty() { event.name().to_owned() } else { format!("{}:{subject}", event.name()) }
}
