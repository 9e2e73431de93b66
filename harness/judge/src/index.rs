//! A trace, read once: asks, sessions, tools, processes, requests and acts by name.
//!
//! Invariant: nothing is judged here. Places in the trace (`at`) are kept beside instants, since many things happen in
//! one tick and their order matters.

use rehang_scenario::{Policy, VTime, turns::Question};
use rehang_trace::{
    AskEnd, AskKind, Cause, Ended, Fact, Json, RunEnd, Trace, What,
    role::{Actor, actor, same_agent},
};
use std::collections::BTreeMap;

/// A point in the trace: its place and its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The event's place in the trace, from 0.
    pub place: usize,
    /// The event's virtual time.
    pub t: VTime,
}

/// An ask, with its ends.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The role of the process that asks.
    pub who: &'a str,
    /// The ask's id.
    pub id: &'a str,
    /// Whether it is a question or a permission.
    pub kind: AskKind,
    /// The id of the session that asks.
    pub session: &'a str,
    /// The questions; empty for a permission.
    pub questions: &'a [Question],
    /// The permission; empty for a question.
    pub permission: &'a str,
    /// When it was opened.
    pub opened: At,
    /// All its ends; exactly one, if all is well.
    pub ends: Vec<End<'a>>,
    /// When its process ended while it was open: an ask is in its process's memory.
    pub died: Option<At>,
}

impl Ask<'_> {
    /// Whether nobody has ended it, and its process lives.
    pub fn is_open(&self) -> bool {
        self.ends.is_empty() && self.died.is_none()
    }
}

/// An end of an ask.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// When it ended.
    pub at: At,
    /// How it ended.
    pub end: AskEnd,
    /// Why it ended, as the agent states it.
    pub cause: Cause,
    /// Who ended it, as the agent states it.
    pub by: &'a str,
    /// The answers, a list for each question.
    pub answers: &'a [Vec<String>],
}

/// A session of an agent.
#[derive(Debug, Clone)]
pub struct Session<'a> {
    /// The process that holds it.
    pub who: &'a str,
    /// The session's id.
    pub id: &'a str,
    /// Its parent; empty for a root session.
    pub parent: &'a str,
    /// When it became busy (`true`) and idle.
    pub busy: Vec<(At, bool)>,
    /// Requests to the model (`None`) and the reasons with which its streams ended; `died` with its process.
    pub steps: Vec<(At, Option<&'a str>)>,
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct Tool<'a> {
    /// The process that runs it.
    pub who: &'a str,
    /// The call's id.
    pub call: &'a str,
    /// The tool; empty if the call's start was not stated.
    pub tool: &'a str,
    /// The id of the session.
    pub session: &'a str,
    /// When it began.
    pub began: At,
    /// All its ends: when, whether it is an error, and what the model is told.
    pub ends: Vec<(At, bool, &'a str)>,
    /// When its process ended while it was running.
    pub died: Option<At>,
}

impl Tool<'_> {
    /// Whether it has no result, and its process lives.
    pub fn is_open(&self) -> bool {
        self.ends.is_empty() && self.died.is_none()
    }
}

/// A process, from its start to its end.
#[derive(Debug, Clone)]
pub struct Process<'a> {
    /// Its program name and arguments.
    pub argv: &'a [String],
    /// When it was started.
    pub began: At,
    /// When it ended, and by which signal; `None` if it exited by itself.
    pub ended: Option<(At, Option<&'a str>)>,
    /// Its exit code, if it exited by itself.
    pub code: Option<u8>,
    /// The signal that stopped it, while it is stopped.
    pub stopped: Option<&'a str>,
}

/// A request to the agent's server.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The role of the sender.
    pub who: &'a str,
    /// The HTTP method.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The JSON body; null if there is none.
    pub body: &'a Json,
    /// When it was sent.
    pub at: At,
    /// When the response was read, its status and its body.
    pub response: Option<(At, u16, &'a Json)>,
    /// When and why there was no response.
    pub failed: Option<(At, &'a str)>,
    /// What of it can matter to more than one invariant.
    pub(crate) does: Does,
}

/// What a request does, as far as its route says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// It aborts a session.
    Abort,
    /// It asks for the list of what is open.
    ListAsks,
    /// Something else.
    Other,
}

impl Does {
    fn of(method: &str, path: &str) -> Does {
        let route = path.split_once('?').map_or(path, |(route, _)| route);
        match route {
            "/question" | "/permission" | "/blocker" if method == "GET" => Does::ListAsks,
            _ if route.ends_with("/abort") => Does::Abort,
            _ => Does::Other,
        }
    }
}

/// Requests by number. A cell counts them from 1, so that each is where its number says; a trace from elsewhere may leave
/// numbers out.
#[derive(Debug, Clone, Default)]
pub struct Requests<'a> {
    /// Those from 1 on, without a gap.
    counted: Vec<Request<'a>>,
    /// All others.
    others: BTreeMap<u32, Request<'a>>,
}

impl<'a> Requests<'a> {
    /// The request of this number.
    pub fn get(&self, number: u32) -> Option<&Request<'a>> {
        self.counted.get(place(number)).or_else(|| self.others.get(&number))
    }

    /// All of them: those that are counted, in order, then the others.
    pub fn iter(&self) -> impl Iterator<Item = &Request<'a>> {
        self.counted.iter().chain(self.others.values())
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Request<'a>> {
        self.counted.get_mut(place(number)).or_else(|| self.others.get_mut(&number))
    }

    /// Adds one; of two with one number the first counts.
    fn add(&mut self, number: u32, request: Request<'a>) {
        if self.get(number).is_some() {
            return;
        }
        match place(number) == self.counted.len() {
            true => self.counted.push(request),
            false => drop(self.others.insert(number, request)),
        }
    }
}

/// Where a request is that was counted.
fn place(number: u32) -> usize {
    (number as usize).wrapping_sub(1)
}

/// What a party did to the run.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    /// When it was done.
    pub at: At,
    /// Who did it.
    pub who: &'a str,
    /// What was done.
    pub what: Did<'a>,
}

/// The kind of an act.
#[derive(Debug, Clone, Copy)]
pub enum Did<'a> {
    /// A signal was sent to this role.
    Signal(&'a str, &'a str),
    /// This was written to the agent's stdin or terminal.
    Wrote(&'a str),
    /// The agent's stdin was closed or its terminal hung up.
    Closed,
    /// A person acts, in the scenario's word.
    Acts(&'a str),
    /// A fault of the scenario strikes.
    Fault(&'a str),
    /// A strategy inside the agent acts.
    Inside(&'a str),
    /// A request was sent: its number.
    Request(u32),
}

/// A statement that the run is over.
#[derive(Debug, Clone, Copy)]
pub struct Settlement<'a> {
    /// When it was made.
    pub at: At,
    /// Who made it.
    pub who: &'a str,
    /// How the run ended.
    pub outcome: RunEnd,
    /// The cause of a stop, or the reason of a failure.
    pub cause: &'a str,
    /// The result's text.
    pub text: &'a str,
}

/// A question that never became an ask.
#[derive(Debug, Clone, Copy)]
pub struct Preempted<'a> {
    /// When it was answered or refused.
    pub at: At,
    /// The role of the process.
    pub who: &'a str,
    /// The id of the call.
    pub call: &'a str,
    /// The name of the strategy.
    pub by: &'a str,
    /// The answers; empty if it is unanswered.
    pub answers: &'a [Vec<String>],
    /// What the model is told.
    pub text: &'a str,
    /// Whether a person could have answered.
    pub live: bool,
}

/// The contents of a trace, by name.
#[derive(Debug, Clone, Default)]
pub struct Index<'a> {
    /// Asks in the order in which they were opened.
    pub asks: Vec<Ask<'a>>,
    /// Ends of asks that were never opened: the process, the ask's id, when.
    pub stray_ends: Vec<(&'a str, &'a str, At)>,
    /// Sessions in the order in which they began.
    pub sessions: Vec<Session<'a>>,
    /// Tool calls in the order in which they began.
    pub tools: Vec<Tool<'a>>,
    /// The processes, by role.
    pub processes: BTreeMap<&'a str, Process<'a>>,
    /// The requests, by number.
    pub requests: Requests<'a>,
    /// The acts, in order.
    pub acts: Vec<Act<'a>>,
    /// The settlements of the run, in order.
    pub settled: Vec<Settlement<'a>>,
    /// When each run of the caller ended that was not its last: the next one begins there.
    pub run_overs: Vec<At>,
    /// Questions that never became asks.
    pub preempted: Vec<Preempted<'a>>,
    /// The agents' own results: the process, when, whether it succeeded, the text.
    pub results: Vec<(&'a str, At, bool, &'a str)>,
    /// Reports: by whom, when, what.
    pub reports: Vec<(&'a str, At, &'a Policy)>,
    /// What was left: by whom, when, what.
    pub left: Vec<(&'a str, At, &'a str)>,
    /// When and how the cell ended.
    pub ended: Option<(At, &'a Ended)>,
}

impl<'a> Index<'a> {
    /// Reads a trace in one pass.
    pub fn of(trace: &'a Trace) -> Index<'a> {
        let mut reader = Reader::default();
        for (place, event) in trace.events.iter().enumerate() {
            reader.take(At { place, t: event.t }, &event.who, &event.what);
        }
        reader.index
    }

    /// Whether a process is alive at the end; one that was never seen to start counts as alive.
    pub fn alive(&self, role: &str) -> bool {
        self.processes.get(role).is_none_or(|p| p.ended.is_none())
    }

    /// Whether something happened in the caller's last run, and not in one before it.
    pub fn of_last_run(&self, at: At) -> bool {
        self.run_overs.last().is_none_or(|over| *over < at)
    }

    /// Whether a session is busy at the end of the instant `t`; `None` if nothing was stated.
    pub fn busy(&self, who: &str, id: &str, t: VTime) -> Option<bool> {
        let session = self.sessions.iter().find(|s| s.who == who && s.id == id)?;
        session.busy_at(t)
    }

    /// The root sessions of the agent itself.
    pub fn roots(&self) -> impl Iterator<Item = &Session<'a>> {
        self.sessions.iter().filter(|s| s.who == "agent" && s.parent.is_empty())
    }

    /// Asks that are open at the end in a live process.
    pub fn open_asks(&self) -> impl Iterator<Item = &Ask<'a>> {
        self.asks.iter().filter(|ask| ask.is_open())
    }

    /// Tool calls that run at the end in a live process.
    pub fn running_tools(&self) -> impl Iterator<Item = &Tool<'a>> {
        self.tools.iter().filter(|tool| tool.is_open())
    }

    /// Who really ended an ask: on its wire an agent cannot tell a person from a strategy, but the trace can.
    pub fn ended_by(&self, ask: &Ask<'a>, end: &End<'a>) -> &'a str {
        if actor(end.by) != Actor::Person {
            return end.by;
        }
        let between = self.acts.iter().filter(|act| ask.opened < act.at && act.at < end.at);
        let mut carried = between.filter(|act| match act.what {
            Did::Request(id) => self.requests.get(id).is_some_and(|request| {
                let refused = request.response.is_some_and(|(at, status, _)| at < end.at && status >= 400);
                request.method == "POST" && names(request.path, ask.id) && !refused
            }),
            Did::Wrote(text) => names(text, ask.id),
            _ => false,
        });
        carried.next().filter(|act| !self.is_decided(act)).map_or(end.by, |act| act.who)
    }

    /// Whether a client has only passed on what the person at it did just before.
    fn is_decided(&self, act: &Act<'a>) -> bool {
        let before = self.acts.iter().filter(|of| of.at < act.at).max_by_key(|of| of.at);
        let is_person = |of: &Act<'_>| of.at.t == act.at.t && matches!(of.what, Did::Acts(_));
        actor(act.who) == Actor::Client && before.is_some_and(is_person)
    }
}

impl Session<'_> {
    /// Whether it is busy at the end of the instant `t`; `None` if nothing was stated.
    pub fn busy_at(&self, t: VTime) -> Option<bool> {
        self.busy.iter().rev().find(|(at, _)| at.t <= t).map(|&(_, busy)| busy)
    }

    /// Its last step before `place`: `Some(None)` while the model is asked, otherwise the reason of its end.
    pub fn step_before(&self, place: usize) -> Option<Option<&str>> {
        self.steps.iter().rev().find(|(at, _)| at.place < place).map(|&(_, step)| step)
    }
}

/// Whether `id` is in `text` as a whole word, so that `que_1` is not found in `que_12`.
pub fn names(text: &str, id: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    !id.is_empty()
        && text.match_indices(id).any(|(at, _)| {
            let before = text[..at].chars().next_back().is_none_or(|c| !word(c));
            before && text[at + id.len()..].chars().next().is_none_or(|c| !word(c))
        })
}

#[derive(Default)]
struct Reader<'a> {
    index: Index<'a>,
    asks: BTreeMap<(&'a str, &'a str), usize>,
    sessions: BTreeMap<(&'a str, &'a str), usize>,
    tools: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, at: At, who: &'a str, what: &'a What) {
        let who = same_agent(who);
        let index = &mut self.index;
        let act = |what| Act { at, who, what };
        match what {
            What::Spawn { argv, .. } => {
                index.processes.insert(who, Process { argv, began: at, ended: None, code: None, stopped: None });
            }
            What::Exit(code) => self.gone(who, at, None, Some(*code)),
            What::Killed(sig) => self.gone(who, at, Some(sig), None),
            What::Stopped(sig) => {
                index.processes.entry(who).or_insert_with(|| unborn(at)).stopped = Some(sig);
            }
            What::Continued => {
                if let Some(process) = index.processes.get_mut(who) {
                    process.stopped = None;
                }
            }
            What::Signal { sig, to } => index.acts.push(act(Did::Signal(sig, to))),
            What::In { text } => index.acts.push(act(Did::Wrote(text))),
            What::InEnd => index.acts.push(act(Did::Closed)),
            What::Request { id, method, path, body } => {
                index.acts.push(act(Did::Request(*id)));
                let does = Does::of(method, path);
                let request = Request { who, method, path, body, at, response: None, failed: None, does };
                index.requests.add(*id, request);
            }
            What::Response { id, status, body } => {
                if let Some(request) = index.requests.get_mut(*id) {
                    request.response = Some((at, *status, body));
                }
            }
            What::RequestFailed { id, why } => {
                if let Some(request) = index.requests.get_mut(*id) {
                    request.failed = Some((at, why));
                }
            }
            What::Fact(fact) => self.fact(at, who, fact),
            What::Report(policy) => index.reports.push((who, at, policy)),
            What::Acts(what) => index.acts.push(act(Did::Acts(what))),
            What::Fault(what) => index.acts.push(act(Did::Fault(what))),
            What::Settled { outcome, cause, text } => {
                index.settled.push(Settlement { at, who, outcome: *outcome, cause, text });
            }
            What::RunOver { .. } => {
                index.run_overs.push(at);
                // the next run counts its calls and asks from the beginning, but for those of a server that lives on
                self.tools.retain(|_, place| index.tools[*place].is_open());
                self.asks.retain(|_, place| index.asks[*place].is_open());
            }
            What::Ended(ended) => index.ended = Some((at, ended)),
            What::Left { what } => index.left.push((who, at, what)),
            What::Adopted
            | What::Out { .. }
            | What::OutEnd { .. }
            | What::Sse(_)
            | What::SseEnd
            | What::Looked { .. }
            | What::Says(_) => {}
        }
    }

    fn gone(&mut self, who: &'a str, at: At, sig: Option<&'a str>, code: Option<u8>) {
        let process = self.index.processes.entry(who).or_insert_with(|| unborn(at));
        if process.ended.is_some() {
            return;
        }
        (process.ended, process.code, process.stopped) = (Some((at, sig)), code, None);
        let index = &mut self.index;
        for ask in index.asks.iter_mut().filter(|ask| ask.who == who && ask.ends.is_empty()) {
            ask.died.get_or_insert(at);
        }
        for tool in index.tools.iter_mut().filter(|tool| tool.who == who && tool.ends.is_empty()) {
            tool.died.get_or_insert(at);
        }
        for session in index.sessions.iter_mut().filter(|session| session.who == who) {
            if session.busy.last().is_some_and(|&(_, busy)| busy) {
                session.busy.push((at, false));
            }
            if session.steps.last().is_some_and(|(_, step)| step.is_none()) {
                session.steps.push((at, Some("died")));
            }
        }
    }

    fn fact(&mut self, at: At, who: &'a str, fact: &'a Fact) {
        match fact {
            Fact::Session { id, parent } => {
                self.session(who, id).parent = parent;
            }
            Fact::Busy { session, busy } => self.session(who, session).busy.push((at, *busy)),
            Fact::ModelAsked { session, .. } => self.session(who, session).steps.push((at, None)),
            Fact::ModelDone { session, finish } => self.session(who, session).steps.push((at, Some(finish))),
            Fact::ModelSaid { .. } => {}
            Fact::ToolBegan { call, tool, session } => {
                self.tools.insert((who, call), self.index.tools.len());
                self.index.tools.push(Tool { who, call, tool, session, began: at, ends: Vec::new(), died: None });
            }
            Fact::ToolEnded { call, error, text } => {
                let place = *self.tools.entry((who, call)).or_insert_with(|| {
                    let (ends, died) = (Vec::new(), None);
                    self.index.tools.push(Tool { who, call, tool: "", session: "", began: at, ends, died });
                    self.index.tools.len() - 1
                });
                self.index.tools[place].ends.push((at, *error, text));
            }
            Fact::Asked { id, kind, session, questions, permission } => {
                // A restarted server states its stored asks again: an ask that has not ended is the same ask.
                let known = self.asks.get(&(who, id)).map(|&place| &self.index.asks[place]);
                if known.is_some_and(Ask::is_open) {
                    return;
                }
                self.asks.insert((who, id), self.index.asks.len());
                let (kind, opened, ends, died) = (*kind, at, Vec::new(), None);
                self.index.asks.push(Ask { who, id, kind, session, questions, permission, opened, ends, died });
            }
            Fact::AskEnded { id, end, cause, by, answers } => match self.asks.get(&(who, id)) {
                Some(&place) => {
                    let ends = &mut self.index.asks[place].ends;
                    ends.push(End { at, end: *end, cause: *cause, by, answers });
                }
                None => self.index.stray_ends.push((who, id, at)),
            },
            Fact::Preempted { call, by, answers, text, live, .. } => {
                self.index.preempted.push(Preempted { at, who, call, by, answers, text, live: *live });
            }
            Fact::Result { ok, text } => self.index.results.push((who, at, *ok, text)),
            Fact::Policy { strategy, policy } => self.index.reports.push((strategy, at, policy)),
            Fact::Acted { strategy, act } => {
                self.index.acts.push(Act { at, who: strategy, what: Did::Inside(act) });
            }
        }
    }

    fn session(&mut self, who: &'a str, id: &'a str) -> &mut Session<'a> {
        let sessions = &mut self.index.sessions;
        let place = *self.sessions.entry((who, id)).or_insert_with(|| {
            sessions.push(Session { who, id, parent: "", busy: Vec::new(), steps: Vec::new() });
            sessions.len() - 1
        });
        &mut sessions[place]
    }
}

fn unborn<'a>(at: At) -> Process<'a> {
    Process { argv: &[], began: at, ended: None, code: None, stopped: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn an_id_is_a_whole_word() {
        assert!(names("/question/que_1/reply", "que_1"));
        assert!(!names("/question/que_12/reply", "que_1"));
        assert!(!names("anything", ""));
    }

    #[test]
    fn a_request_is_found_by_its_number_whatever_the_numbers_are() {
        let numbers = [1, 2, 7, 4, 4, u32::MAX, 0];
        let cell = numbers.iter().enumerate().fold(Cell::new().started(), |cell, (at, number)| {
            cell.request("client", *number, "GET", &format!("/{at}"))
        });
        let trace = cell.respond("client", 7, 200, "x".into()).respond("client", 9, 200, "y".into()).trace();
        let requests = Index::of(&trace).requests;
        let paths: Vec<&str> = requests.iter().map(|request| request.path).collect();
        assert_eq!(paths, ["/0", "/1", "/6", "/3", "/2", "/5"], "the first of two with one number");
        let found = [0, 1, 2, 3, 4, 7, u32::MAX].map(|number| requests.get(number).map(|request| request.path));
        assert_eq!(found, [Some("/6"), Some("/0"), Some("/1"), None, Some("/3"), Some("/2"), Some("/5")]);
        let answered: Vec<&str> = requests.iter().filter(|r| r.response.is_some()).map(|r| r.path).collect();
        assert_eq!(answered, ["/2"]);
    }

    #[test]
    fn a_strategy_behind_the_wire_is_found() {
        let reply = |who: &str, status| {
            let cell = Cell::new().at(0).spawn("agent").ask("que_1", "ses_1");
            let cell = cell.at(5).post(who, 1, "/question/que_1/reply").respond(who, 1, status, "true".into());
            let trace = cell.at(6).end("que_1", AskEnd::Replied, Cause::Answer, "user", &["A"]).trace();
            let index = Index::of(&trace);
            index.ended_by(&index.asks[0], &index.asks[0].ends[0]).to_owned()
        };
        assert_eq!(reply("pending-ask", 200), "pending-ask");
        assert_eq!(reply("person1", 200), "person1");
        assert_eq!(reply("pending-ask", 422), "user", "a refused reply ends nothing");
    }

    #[test]
    fn a_later_run_has_nothing_of_an_earlier_one() {
        let over = What::RunOver { outcome: RunEnd::Failed, cause: String::new(), text: String::new() };
        let cell = Cell::new().started().at(5).signal("guard", "TERM", "agent").add("wrapper", over);
        let trace = cell.signal("guard", "TERM", "agent").trace();
        let index = Index::of(&trace);
        let last: Vec<bool> = index.acts.iter().map(|act| index.of_last_run(act.at)).collect();
        assert_eq!(last, [false, true]);
    }

    #[test]
    fn a_server_that_lives_on_ends_in_a_later_run_what_it_asked_in_an_earlier_one() {
        let over = || What::RunOver { outcome: RunEnd::Stopped, cause: "asked".into(), text: String::new() };
        let end = |cell: Cell| cell.end("que_1", AskEnd::Replied, Cause::Answer, "user", &[]).tool_end("call_1", "x");
        let asked = || Cell::new().started().tool("call_1", "question").ask("que_1", "ses_1");
        let ends = |cell: Cell| {
            let trace = cell.trace();
            let index = Index::of(&trace);
            let ends: Vec<usize> = index.asks.iter().map(|ask| ask.ends.len()).collect();
            (ends, index.stray_ends.len(), index.tools.iter().map(|tool| tool.ends.len()).collect::<Vec<_>>())
        };
        assert_eq!(ends(end(asked().add("wrapper", over()))), (vec![1], 0, vec![1]));
        // what had ended counts anew
        assert_eq!(ends(end(end(asked()).add("wrapper", over()))), (vec![1], 1, vec![1, 1]));
    }
}
