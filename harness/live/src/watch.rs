//! The watch over a cell: what moved last, what is still to come, and when that is a hang.
//!
//! Invariant: the verdict is `observed` only if, for a whole window, nothing new came over any wire, no process came or
//! went, no process computed, the model had nothing more to say, and no command of the bash tool would go on by itself.
//! If the agent may have a time limit of its own that cannot be seen (a silent model, a command that runs, a retry
//! after an error), only the deadline decides.

use crate::input::Stream;
use crate::novelty::Novelty;
use crate::pending::{Owed, Pending};
use crate::processes::{Command, Look};
use crate::record::{Lines, Record};
use crate::report::{Exit, Via};
use crate::spec::{CellSpec, LookAt};
use rehang_agents::Means;
use rehang_model_server::{Event, Happened, Kind, Ledger, Problem, State};
use rehang_scenario::Terminal;
use rehang_scenario::text::without_controls;
use rehang_scenario::turns::Turn;
use rehang_wire::model::script::repeats;
use rehang_wire::model::{Api, ModelRequest, Part};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How long an agent may take to its first model request: a cold start under load took 7–10 s, and a machine that
/// tests several at once is slower still.
pub const STARTUP_MAX: Duration = Duration::from_secs(90);
/// How long a server must send nothing to count as silent. What opencode sends after its last answer, the session's
/// summary and diffs, usually comes within 0.2 s of it; on a busy machine more than half a second was seen.
pub const SILENCE: Duration = Duration::from_secs(2);
/// How long a server is listened to after its client's end: one that never falls silent ends too.
const HEARD_MAX: Duration = Duration::from_secs(30);
/// How many requests beyond the script make a loop: whoever is asked for more says the same again, and no agent needs
/// that so often. opencode 1.2.15 asks about five times a second for ever.
const BEYOND_MAX: u32 = 40;
/// The most tries of one request whose times are kept.
const TRIES_MAX: usize = 8;
/// How many times as long as its longest wait so far a retry may wait: back-offs double, with jitter.
const BACKS_OFF: u32 = 4;
/// How often a command may come and go and still count as news; after that it counts as a poll.
const COMES_AND_GOES_MAX: u32 = 10;

/// The watch.
#[derive(Debug)]
pub struct Watch {
    /// The model's side.
    pub ledger: Ledger,
    /// What the model waits for.
    pub pending: Pending,
    /// All that went over the wires.
    pub record: Record,
    /// How the agent's process ended, and when.
    pub exited: Option<(Exit, Instant)>,
    /// What its output said of its end.
    pub said: Option<Means>,
    /// Whether it refused something by itself.
    pub refused: bool,
    window: Duration,
    deadline: Duration,
    began: Instant,
    first_main: Option<Instant>,
    last_move: Instant,
    last_heard: Instant,
    last_progress: Option<(String, Instant)>,
    novelty: Novelty,
    lines: [Lines; 3],
    /// The first bytes of a character on the screen.
    cut: Vec<u8>,
    open: [bool; 3],
    spawns: BTreeMap<String, u32>,
    commands: BTreeSet<(i32, String)>,
    looks: VecDeque<(Instant, Look)>,
    called: bool,
    asked: BTreeSet<String>,
    beyond: u32,
    /// The scenario's model repeats itself: a request for the same response is the next step of a loop.
    is_repeated: bool,
    tries: (String, VecDeque<Instant>),
}

/// What the watch decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It goes on.
    Wait,
    /// The agent is over, and all that it said is here.
    Over,
    /// Nothing moved for a whole window.
    Observed(Duration),
    /// It asks its model without end; so many requests went beyond the script.
    Repeats(u32),
    /// Time is up.
    Deadline,
    /// In virtual time: the run is over.
    Ended,
}

impl Watch {
    /// Begins now.
    pub fn new(order: &CellSpec) -> Watch {
        let now = Instant::now();
        let tty = order.sandbox.terminal == Terminal::Tty;
        let has_screen = matches!(order.sandbox.terminal, Terminal::Tty | Terminal::CttyNull);
        Watch {
            ledger: Ledger::default(),
            pending: Pending::default(),
            record: Record::new(),
            exited: None,
            said: None,
            refused: false,
            window: Duration::from_millis(order.recipe.window_ms),
            deadline: Duration::from_millis(order.deadline_ms),
            began: now,
            first_main: None,
            last_move: now,
            last_heard: now,
            last_progress: None,
            novelty: Novelty::default(),
            lines: Default::default(),
            cut: Vec::new(),
            open: [!tty && order.sandbox.terminal != Terminal::StdoutStopped, !tty, has_screen],
            spawns: BTreeMap::new(),
            commands: BTreeSet::new(),
            looks: VecDeque::new(),
            called: false,
            asked: BTreeSet::new(),
            beyond: 0,
            is_repeated: repeats(&order.scenario.faults).is_some(),
            tries: Default::default(),
        }
    }

    /// When the clock of the cell began: the first main request, or the agent's start if there was none.
    pub fn clock(&self) -> Instant {
        self.first_main.unwrap_or(self.began)
    }

    /// Milliseconds on the clock of the cell.
    pub fn ms(&self) -> u64 {
        ms(self.clock().elapsed())
    }

    /// From the start to the first main request, in milliseconds.
    pub fn startup_ms(&self) -> Option<u64> {
        self.first_main.map(|first| ms(first - self.began))
    }

    /// When the agent is to be looked at, as far as that is known.
    pub fn look_at(&self, look: LookAt) -> Instant {
        match (look, self.first_main) {
            (LookAt::Start(ms), _) => self.began + Duration::from_millis(ms),
            (LookAt::Request(ms), Some(first)) => first + Duration::from_millis(ms),
            (LookAt::Request(_), None) => self.began + LookAt::UNASKED,
        }
    }

    /// The last material progress.
    pub fn last_progress(&self) -> Option<(String, u64)> {
        let clock = self.clock();
        self.last_progress.as_ref().map(|(what, at)| (what.clone(), ms(at.saturating_duration_since(clock))))
    }

    /// Something moved that carries the task forward.
    pub fn progress(&mut self, what: impl Into<String>) {
        self.last_move = Instant::now();
        self.last_progress = Some((what.into(), self.last_move));
    }

    /// Takes an event of the model server.
    pub fn model(&mut self, event: &Event) {
        self.pending.note(event);
        self.ledger.note(event);
        match &event.happened {
            Happened::Request(request) => {
                let main = match &request.kind {
                    Kind::Main { path, response } => {
                        self.first_main.get_or_insert_with(Instant::now);
                        let told: Vec<&str> = request.told.iter().map(|told| told.text.as_str()).collect();
                        if self.tries.0 != *path {
                            self.tries = (path.clone(), VecDeque::new());
                        }
                        self.tries.1.truncate(TRIES_MAX - 1);
                        self.tries.1.push_front(Instant::now());
                        // a retry asks for the same again, and is no progress
                        if self.asked.insert(path.clone()) {
                            self.progress(format!("model request {path}"));
                        } else {
                            self.beyond += u32::from(self.is_repeated);
                        }
                        let prompt = prompt(&request.target, &request.body);
                        serde_json::json!({"path": path, "response": response, "told": told, "prompt": prompt})
                    }
                    Kind::Side(side) => serde_json::json!({"side": side}),
                };
                self.last_move = Instant::now();
                let offers = &request.offers;
                let line =
                    serde_json::json!({"n": request.n, "request": main, "target": request.target, "offers": offers});
                self.record.note(Via::Model, &line.to_string());
            }
            Happened::Stream { n, state } => {
                match state {
                    State::Began | State::Chunk(_) | State::Ended(_) => self.progress(format!("model response {n}")),
                    State::KeepAlive | State::Stalled => {}
                }
                if *state != State::KeepAlive {
                    self.record.note(Via::Model, &serde_json::json!({"n": n, "stream": state}).to_string());
                }
            }
            Happened::Problem { n, problem } => {
                self.beyond += u32::from(matches!(problem, Problem::BeyondScript(_)));
                let line = serde_json::json!({"n": n, "problem": problem.to_string()});
                self.record.note(Via::Model, &line.to_string());
            }
        }
    }

    /// Takes bytes of a stream; `None` is its end. Returns the lines of stdout that are whole now.
    pub fn output(&mut self, stream: Stream, bytes: Option<&[u8]>, order: &CellSpec) -> Vec<String> {
        let at = stream as usize;
        if let (Stream::Screen, Some(_), Some(bytes)) = (stream, order.screen, bytes) {
            self.screen(bytes);
            return Vec::new();
        }
        let lines = match bytes {
            Some(bytes) => self.lines[at].take(bytes),
            None => {
                self.open[at] = false;
                self.lines[at].rest().into_iter().collect()
            }
        };
        let via = match stream {
            Stream::Stdout => Via::Stdout,
            Stream::Stderr => Via::Stderr,
            Stream::Screen => Via::Screen,
        };
        for line in &lines {
            let text = if stream == Stream::Screen { without_controls(line) } else { line.clone() };
            self.line(via, &text, order);
        }
        lines
    }

    /// Keeps what was written to the terminal as it is, but for a character of which only the first bytes have come: it
    /// waits for the others.
    fn screen(&mut self, bytes: &[u8]) {
        self.cut.extend_from_slice(bytes);
        let rest = match std::str::from_utf8(&self.cut) {
            Err(error) if error.error_len().is_none() => self.cut.split_off(error.valid_up_to()),
            _ => Vec::new(),
        };
        let whole = std::mem::replace(&mut self.cut, rest);
        self.record.note(Via::Screen, &String::from_utf8_lossy(&whole));
    }

    /// Takes a line that the agent said.
    pub fn line(&mut self, via: Via, text: &str, order: &CellSpec) {
        if text.trim().is_empty() {
            return;
        }
        self.record.note(via, text);
        let means = sign(text, order);
        match means {
            Some(Means::Nothing) => return,
            Some(Means::Refuses) => self.refused = true,
            Some(Means::Completes | Means::Fails) => self.said = means,
            Some(Means::Asks) | None => {}
        }
        if self.novelty.is_new(text) {
            self.progress(format!("{} of {}", kind(text), word(via)));
        }
    }

    /// What came over a client's wire.
    pub fn client(&mut self, via: Via, text: &str) {
        self.record.note(via, text);
        self.last_heard = Instant::now();
        if self.novelty.is_new(text) {
            self.progress(kind(text));
        }
    }

    /// Takes a look at the processes, which began then.
    pub fn look(&mut self, at: Instant, look: Look) {
        let now = Instant::now();
        let commands = look.commands();
        let changed: Vec<String> =
            commands.symmetric_difference(&self.commands).map(|(_, name)| name.clone()).collect();
        for name in changed {
            let times = self.spawns.entry(name).or_insert(0);
            *times += 1;
            if *times <= COMES_AND_GOES_MAX {
                self.last_move = now;
            }
        }
        self.called |= !look.tools().0.is_empty();
        self.commands = commands;
        self.looks.push_back((at, look));
        // one look more than the window needs
        while self.looks.get(1).is_some_and(|(first, _)| at.duration_since(*first) >= self.window) {
            self.looks.pop_front();
        }
    }

    /// The latest look, and the one at the window's begin.
    pub fn looks(&self) -> (Option<&Look>, Option<&Look>) {
        (self.looks.back().map(|(_, look)| look), self.looks.front().map(|(_, look)| look))
    }

    /// Whether a command of the bash tool was ever seen to run.
    pub fn called(&self) -> bool {
        self.called
    }

    /// Whether all of the agent's streams have come to their ends.
    pub fn is_silent(&self) -> bool {
        self.open == [false; 3]
    }

    /// For how long the agent was looked at within the window, and the processor time that it took or waited for.
    fn wanted(&self) -> (Duration, Duration) {
        let (Some((from, first)), Some((to, last))) = (self.looks.front(), self.looks.back()) else {
            return Default::default();
        };
        (to.duration_since(*from), Duration::from_nanos(last.wanted_ns(first)))
    }

    /// Whether some process computed at nearly every look within the window. The share of a processor would say how
    /// busy the machine is, not whether the agent waits.
    pub fn is_hot(&self) -> bool {
        self.running() * 4 >= self.looks.len() * 3 && !self.looks.is_empty()
    }

    /// Whether it asks its model without end.
    pub fn repeats(&self) -> bool {
        self.beyond >= BEYOND_MAX
    }

    /// Whether it waits for its next try of a request that failed: it has tried again before, and has not waited much
    /// longer since than it waited then.
    pub fn backs_off(&self, order: &CellSpec) -> bool {
        let broken = matches!(self.pending.owed(&order.scenario.turns), Owed::Broken(_));
        broken && self.exited.is_none() && waits_for_a_try(&self.tries.1, Instant::now())
    }

    fn running(&self) -> usize {
        self.looks.iter().filter(|(_, look)| look.is_running()).count()
    }

    /// What the watch decides now.
    pub fn says(&self, order: &CellSpec) -> Decision {
        let now = Instant::now();
        // what is left of its commands then has ended, or goes on
        let settles = |at: Instant| !order.counts_left || now.duration_since(at) >= SILENCE;
        if self.exited.is_some_and(|(_, at)| settles(at)) && self.is_silent() {
            return Decision::Over;
        }
        if order.is_virtual {
            return if self.repeats() { Decision::Repeats(self.beyond) } else { Decision::Wait };
        }
        if order.look.is_some() {
            return Decision::Wait;
        }
        let up = match self.first_main {
            Some(first) => now >= first + self.deadline,
            None => now >= self.began + STARTUP_MAX.max(self.deadline),
        };
        if up {
            return Decision::Deadline;
        }
        // up to the latest look: what has happened since is not known
        let quiet = self.looks.back().map_or(Duration::ZERO, |(at, _)| at.saturating_duration_since(self.last_move));
        if self.repeats() {
            return Decision::Repeats(self.beyond);
        }
        match self.patience(order) {
            Some(patience) if quiet >= patience && self.is_still() => Decision::Observed(patience),
            _ => Decision::Wait,
        }
    }

    /// Whether a server has sent all that belongs to a turn which is over for its client since `settled`. A server that
    /// computes, or waits for a processor, may have more to send.
    pub fn has_told_all(&self, settled: Instant) -> bool {
        let heard = self.last_heard.max(settled);
        let looked = self.looks.back().filter(|(at, _)| *at > heard).map(|(_, look)| look.is_running());
        told_all(settled, heard, looked, Instant::now())
    }

    /// How long nothing may move before it counts as a hang; `None` if only the deadline decides.
    fn patience(&self, order: &CellSpec) -> Option<Duration> {
        if order.supervised {
            return None;
        }
        if self.exited.is_some() {
            return Some(self.window);
        }
        let tools = self.looks.back().map(|(_, look)| look.tools());
        let (main, left) = tools.unwrap_or_default();
        if main.iter().chain(&left).any(|command| *command == Command::Works) {
            return None;
        }
        match self.pending.owed(&order.scenario.turns) {
            Owed::Response | Owed::Silence | Owed::Broken(_) => None,
            Owed::Results(calls) if !main.is_empty() || !left.is_empty() => {
                let limit = |call: &Turn| match call {
                    Turn::Bash(bash) => bash.timeout,
                    _ => None,
                };
                let longest = calls.iter().filter(|call| matches!(call, Turn::Bash(_))).map(limit).max()??;
                Some(Duration::from_millis(longest.as_ms()) + self.window)
            }
            // a server or a hook of the agent's own, to which it may have a limit
            Owed::Nothing if !main.is_empty() || !left.is_empty() => None,
            // a tool server over HTTP is no process of the agent's
            Owed::Nothing if order.scenario.tool_server.is_some() => None,
            Owed::Results(calls) if calls.iter().any(|call| matches!(call, Turn::Permit(_))) => None,
            Owed::Nothing | Owed::Results(_) | Owed::Done => Some(self.window),
        }
    }

    /// Whether no process computed or was ready to within the window: a starved agent is ready to run, and a busy one
    /// runs. Before it is started, only the machine is slow.
    fn is_still(&self) -> bool {
        let is_there = self.exited.is_some() || self.looks.front().is_some_and(|(_, look)| look.agent().is_some());
        let (looked, wanted) = self.wanted();
        is_there && looked >= self.window && self.running() * 4 <= self.looks.len() && wanted * 2 < looked
    }
}

/// `tries`: the latest first.
fn waits_for_a_try(tries: &VecDeque<Instant>, now: Instant) -> bool {
    let waits = tries.iter().zip(tries.iter().skip(1)).map(|(later, earlier)| later.duration_since(*earlier));
    let longest = waits.max();
    tries.front().zip(longest).is_some_and(|(last, longest)| now.duration_since(*last) <= longest * BACKS_OFF)
}

/// `looked`: whether any process ran at the latest look after what was heard last.
fn told_all(settled: Instant, heard: Instant, looked: Option<bool>, now: Instant) -> bool {
    let is_silent = now.duration_since(heard) >= SILENCE && looked == Some(false);
    is_silent || now.duration_since(settled) >= HEARD_MAX
}

/// What the agent says to its model in its user's name, as the last thing of a request; `None` if that is a tool's result.
fn prompt(target: &str, body: &Value) -> Option<String> {
    let request = ModelRequest::at(Api::of_target(target)?, target, body);
    let last = request.messages.last().filter(|message| message.role == "user")?;
    let text = |part: &Part| if let Part::Text(text) = part { Some(text.clone()) } else { None };
    last.parts.iter().map(text).collect::<Option<Vec<String>>>().map(|texts| texts.concat())
}

/// What a line of the agent's output means.
fn sign(text: &str, order: &CellSpec) -> Option<Means> {
    let json: Option<Value> = text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
    order
        .recipe
        .signs
        .iter()
        .find(|sign| {
            let by_text = sign.text.as_ref().is_none_or(|needle| text.contains(needle));
            let by_json = sign.json.iter().all(|(at, value)| json.as_ref().and_then(|j| j.pointer(at)) == Some(value));
            by_text && by_json
        })
        .map(|sign| sign.means)
}

/// A line in one or two words: the type of a JSON message, else its first words.
fn kind(text: &str) -> String {
    if let Ok(Value::Object(map)) = serde_json::from_str::<Value>(text)
        && let Some(kind) = map.get("type").and_then(Value::as_str)
    {
        return kind.to_owned();
    }
    text.chars().take(40).collect()
}

fn word(via: Via) -> &'static str {
    match via {
        Via::Stderr => "stderr",
        Via::Screen => "the screen",
        _ => "stdout",
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_that_backs_off_waits_and_one_that_never_comes_does_not() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let waits = |tries: &[u64], now: u64| waits_for_a_try(&tries.iter().rev().map(|s| at(*s)).collect(), at(now));
        assert!(waits(&[0, 1, 3, 7], 15), "eight seconds are twice the last wait");
        assert!(waits(&[0, 5], 25) && !waits(&[0, 5], 26));
        assert!(!waits(&[0], 1), "it has not tried again yet, so nobody knows that it will");
        assert!(!waits(&[], 0));
    }

    #[test]
    fn a_server_has_told_all_when_it_is_silent_and_rests() {
        let settled = Instant::now();
        let told = |heard_ms: u64, looked, now_ms: u64| {
            let at = |ms| settled + Duration::from_millis(ms);
            told_all(settled, at(heard_ms), looked, at(now_ms))
        };
        assert!(told(0, Some(false), 2_000));
        assert!(!told(0, Some(false), 1_999), "it was heard a moment ago");
        assert!(!told(1_500, Some(false), 3_000), "what comes late begins the silence again");
        assert!(told(1_500, Some(false), 3_500));
        assert!(!told(0, Some(true), 20_000), "it wants to run");
        assert!(!told(0, None, 20_000), "nobody has looked since");
        assert!(told(29_999, Some(true), 30_000), "one that never falls silent ends too");
    }
}
