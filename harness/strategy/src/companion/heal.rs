//! `autoHealJob`, on a person's command, with the job store and the worker that owns the prompt (seed 2.2, 2.3).
//!
//! Invariant: a heal changes a job only if the job is running and its session is known; every other way out is a
//! `skipped` with its reason, and a dry run changes nothing.

use super::job::{Job, Status, TASK};
use super::message::Last;
use super::watcher::{POLL_TIMEOUT, SendPrompt};
use super::{Rules, Version};
use crate::canon::option;
use crate::{Act, Facts, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Settled, Strategy};
use rehang_wire::opencode::Route;
use rehang_words::{Canon, Policy, Span, VTime};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// How long a dead worker's session must have been unchanged before its job is failed (PR 3, PR 5).
pub const STILL: Span = Span::secs(60);
/// The most commands that wait for the one that runs; a person types no more.
const COMMANDS_MAX: usize = 16;

/// The companion with one background task.
#[derive(Debug)]
pub struct Companion {
    rules: Rules,
    worker: SendPrompt,
    next_id: u32,
    prompt: Option<(String, String)>,
    job: Option<Job>,
    now: Doing,
    waiting: VecDeque<Run>,
    settled: bool,
    polled: bool,
    /// When the worker writes the data file, which comes after the status.
    writes: Option<VTime>,
}

/// A command that heals first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Heal {
        dry: bool,
    },
    Status,
    /// Of one id, which is the job's or not.
    StatusOf(bool),
    ResumeCandidate,
    Result,
    Monitor,
}

#[derive(Debug)]
enum Doing {
    Nothing,
    /// Looks whether there is a worker to take the job.
    Starts,
    Probes(Run, u32),
    LooksAtWorker(Run, Probe),
}

#[derive(Debug)]
enum Probe {
    Unreachable(String),
    /// Not terminal; when its last message was touched, if it has one.
    Open(Option<VTime>),
}

impl Companion {
    /// A companion whose worker runs only the prompt's POST, or the same revision's watcher.
    pub fn new(rules: Rules, watched: bool) -> Companion {
        Companion {
            rules,
            worker: SendPrompt::numbered(Rules { watches: watched, ..rules }, 1, 2),
            next_id: 2,
            prompt: None,
            job: None,
            now: Doing::Nothing,
            waiting: VecDeque::new(),
            settled: false,
            polled: false,
            writes: None,
        }
    }

    /// Runs the monitor's `status`; [`Companion::take_polled`] says when the result is there.
    pub(super) fn poll(&mut self, now: VTime, acts: &mut Vec<Act>) {
        self.run(now, Run::Monitor, acts);
    }

    /// Whether the monitor's `status` has come since the last call.
    pub(super) fn take_polled(&mut self) -> bool {
        std::mem::take(&mut self.polled)
    }

    /// The job, once it exists.
    pub(super) fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    fn start(&mut self, now: VTime, session: &str, prompt: &str, acts: &mut Vec<Act>) {
        self.job = Some(Job::queued(now));
        self.prompt = Some((session.to_owned(), prompt.to_owned()));
        self.now = Doing::Starts;
        acts.push(Act::Protocol(ProtocolAct::LookAtWorker));
    }

    fn command(&mut self, now: VTime, command: &str, acts: &mut Vec<Act>) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["heal", flags @ ..] => self.run(now, Run::Heal { dry: flags.contains(&"--dry-run") }, acts),
            ["status", id] if !id.starts_with("--") => {
                self.run(now, Run::StatusOf(TASK.starts_with(id)), acts);
            }
            ["status", ..] => self.run(now, Run::Status, acts),
            ["task-resume-candidate", ..] => self.run(now, Run::ResumeCandidate, acts),
            ["result", ..] => self.run(now, Run::Result, acts),
            ["cancel", ..] => self.cancel(now, acts),
            _ => acts.push(Act::Say(format!("unknown command: {command}"))),
        }
    }

    fn run(&mut self, now: VTime, run: Run, acts: &mut Vec<Act>) {
        if !matches!(self.now, Doing::Nothing) {
            if self.waiting.len() < COMMANDS_MAX || run == Run::Monitor {
                self.waiting.push_back(run);
            }
            return;
        }
        let Some(job) = &self.job else { return self.say(now, run, "skipped", "no job", acts) };
        // Defect f: a queued job whose worker is dead has no session, and so is never healed.
        let Some(session) = &job.session else {
            return self.say(now, run, "skipped", "no opencodeSessionId", acts);
        };
        if job.status != Status::Running {
            let why = format!("status is {}", job.status.word());
            return self.say(now, run, "skipped", &why, acts);
        }
        let (method, path) = Route::Messages { session, limit: Some(1) }.sent();
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(2);
        self.now = Doing::Probes(run, id);
        acts.push(Act::Protocol(ProtocolAct::Request {
            id,
            method,
            path,
            body: Value::Null,
            timeout: Some(POLL_TIMEOUT),
        }));
    }

    fn probed(&mut self, now: VTime, run: Run, status: u16, body: &Value, acts: &mut Vec<Act>) {
        let last = if (200..300).contains(&status) { Last::of(body) } else { None };
        let start = self.job.as_ref().map_or(VTime::ZERO, |job| job.created);
        // Defect a: the step's finish is taken for the turn's, and the worker is not looked at.
        if let Some(last) = last.filter(|last| last.is_terminal(start, self.rules.lenient)) {
            let details = format!("finish: {}", last.finish().unwrap_or("none"));
            let settled = Settled::Completed(last.text());
            return self.heal(now, run, "finish", &details, settled, acts);
        }
        self.now = Doing::LooksAtWorker(run, Probe::Open(last.and_then(Last::touched)));
        acts.push(Act::Protocol(ProtocolAct::LookAtWorker));
    }

    fn unreachable(&mut self, now: VTime, run: Run, why: &str, acts: &mut Vec<Act>) {
        if self.rules.version == Version::Pr3 {
            return self.say(now, run, "skipped", &format!("server unreachable: {why}"), acts);
        }
        self.now = Doing::LooksAtWorker(run, Probe::Unreachable(why.to_owned()));
        acts.push(Act::Protocol(ProtocolAct::LookAtWorker));
    }

    fn looked(&mut self, now: VTime, run: Run, probe: &Probe, alive: bool, acts: &mut Vec<Act>) {
        let updated = self.job.as_ref().map_or(now, |job| job.updated);
        match probe {
            Probe::Unreachable(_) if !alive && now.since(updated) >= STILL => {
                let text = "server unreachable while worker dead";
                let settled = Settled::Stopped("server-unreachable".to_owned(), text.to_owned());
                self.heal(now, run, "server-unreachable", text, settled, acts);
            }
            Probe::Unreachable(why) => self.say(now, run, "skipped", &format!("server unreachable: {why}"), acts),
            Probe::Open(_) if alive => self.say(now, run, "skipped", "worker still alive", acts),
            Probe::Open(touched) => {
                let still = now.since(touched.unwrap_or(updated));
                let secs = still.as_ms() / 1_000;
                if still < STILL {
                    let why = format!("idle {secs}s < {}s threshold", STILL.as_ms() / 1_000);
                    return self.say(now, run, "skipped", &why, acts);
                }
                // Defect e: a session that has been writing one long message looks as unchanged as a dead one.
                let text = format!("task-worker exited without completion; session last updated {secs}s ago");
                let settled = Settled::Stopped("worker-dead".to_owned(), text.clone());
                self.heal(now, run, "worker-dead", &text, settled, acts);
            }
        }
    }

    fn heal(&mut self, now: VTime, run: Run, detected: &str, details: &str, settled: Settled, acts: &mut Vec<Act>) {
        let done = matches!(settled, Settled::Completed(_));
        if run == (Run::Heal { dry: true }) {
            return self.say(now, run, if done { "would-complete" } else { "would-fail" }, details, acts);
        }
        let (status, action) = match done {
            true => (Status::Completed, "healed-completed"),
            false => (Status::Failed, "healed-failed"),
        };
        let (Settled::Completed(text) | Settled::Stopped(_, text) | Settled::Failed(text)) = &settled;
        let cause = match &settled {
            Settled::Stopped(cause, _) => Some(cause.clone()),
            _ => None,
        };
        if let Some(job) = &mut self.job {
            job.end(now, status, text, true);
            // a healer writes the data file first (autoHealJob)
            job.write();
        }
        acts.push(Act::Report(Policy {
            detected: Some(detected.to_owned()),
            rule: Some(action.to_owned()),
            constants: cause.iter().map(|_| ("still_ms".to_owned(), STILL.as_ms())).collect(),
            text: cause.is_some().then(|| details.to_owned()),
            cause,
            ..Policy::default()
        }));
        self.say(now, run, action, details, acts);
        self.settle(settled, acts);
    }

    /// Prints what the command prints when its heal is finished, and goes on with the next command.
    fn say(&mut self, now: VTime, run: Run, action: &str, details: &str, acts: &mut Vec<Act>) {
        self.now = Doing::Nothing;
        let job = self.job.as_ref();
        let said = match run {
            Run::Heal { dry } => json!({
                "workspaceRoot": ".",
                "dryRun": dry,
                "scanned": u8::from(job.is_some()),
                "actions": [{"id": TASK, "action": action, "details": details}],
            }),
            Run::Status => job.map_or(Value::Null, Job::status_json),
            Run::StatusOf(known) => {
                let none = json!({"workspaceRoot": ".", "job": null});
                job.filter(|_| known).map_or(none, |job| job.one_json(now))
            }
            Run::ResumeCandidate => job.map_or(Value::Null, Job::resume_json),
            Run::Result => job.map_or(Value::Null, |job| job.result_json(now)),
            Run::Monitor => {
                self.polled = true;
                Value::Null
            }
        };
        if run != Run::Monitor {
            acts.push(Act::Say(said.to_string()));
        }
        if let Some(next) = self.waiting.pop_front() {
            self.run(now, next, acts);
        }
    }

    fn cancel(&mut self, now: VTime, acts: &mut Vec<Act>) {
        let Some(job) = self.job.as_mut().filter(|job| !job.status.is_over()) else {
            return acts.push(Act::Say(json!({"error": "no running task"}).to_string()));
        };
        if let Some(session) = &job.session {
            let (method, path) = Route::Abort { session, soft: false }.sent();
            acts.push(Act::Protocol(ProtocolAct::Request {
                id: self.next_id,
                method,
                path,
                body: Value::Null,
                timeout: None,
            }));
            self.next_id = self.next_id.wrapping_add(2);
        }
        let text = "Canceled by user";
        job.end(now, Status::Failed, text, false);
        job.write();
        self.worker.die(acts);
        acts.push(Act::Say(job.status_json().to_string()));
        self.settle(Settled::Stopped("cancel".to_owned(), text.to_owned()), acts);
    }

    /// The worker's own end, which is written even over what a healer wrote before (defect k).
    fn worker_done(&mut self, now: VTime, settled: Settled, acts: &mut Vec<Act>) {
        if let Some(job) = &mut self.job {
            match &settled {
                Settled::Completed(text) => job.end(now, Status::Completed, text, false),
                Settled::Stopped(_, text) | Settled::Failed(text) => job.end(now, Status::Failed, text, false),
            }
            // the next of its writes, at the same time: what comes between them is a matter of the order
            self.writes = Some(now);
        }
        self.settle(settled, acts);
    }

    fn settle(&mut self, settled: Settled, acts: &mut Vec<Act>) {
        if !std::mem::replace(&mut self.settled, true) {
            acts.push(Act::Process(ProcessAct::Settle(settled)));
        }
    }

    fn taken_up(&mut self, now: VTime, alive: bool, acts: &mut Vec<Act>) {
        self.now = Doing::Nothing;
        if let (true, Some((session, prompt)), Some(job)) = (alive, self.prompt.take(), &mut self.job) {
            job.take(now, &session);
            self.worker.start(now, &session, &prompt, acts);
        }
        if let Some(next) = self.waiting.pop_front() {
            self.run(now, next, acts);
        }
    }
}

impl Strategy for Companion {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match (seen, &self.now) {
            (Seen::Process(ProcessSeen::Started { session, prompt }), Doing::Nothing)
                if !session.is_empty() && self.job.is_none() =>
            {
                return self.start(now, session, prompt, acts);
            }
            (Seen::Process(ProcessSeen::Started { .. }), _) => return,
            (Seen::Protocol(ProtocolSeen::Command(command)), _) => return self.command(now, command, acts),
            (Seen::Protocol(ProtocolSeen::WorkerDied), _) => {
                self.writes = None;
                return self.worker.die(acts);
            }
            (Seen::Tick, _) if self.writes.is_some_and(|at| now >= at) => {
                self.writes = None;
                self.job.iter_mut().for_each(Job::write);
            }
            (Seen::Protocol(ProtocolSeen::Worker(alive)), Doing::Starts) => return self.taken_up(now, *alive, acts),
            (Seen::Protocol(ProtocolSeen::Worker(alive)), Doing::LooksAtWorker(..)) => {
                if let Doing::LooksAtWorker(run, probe) = std::mem::replace(&mut self.now, Doing::Nothing) {
                    self.looked(now, run, &probe, *alive, acts);
                }
                return;
            }
            (Seen::Protocol(ProtocolSeen::Response { id, status, body }), &Doing::Probes(run, own)) if own == *id => {
                return self.probed(now, run, *status, body, acts);
            }
            (Seen::Protocol(ProtocolSeen::Failed { id, why }), &Doing::Probes(run, own)) if own == *id => {
                return self.unreachable(now, run, why, acts);
            }
            _ => {}
        }
        let mut own = Vec::new();
        self.worker.on(now, seen, &mut own);
        for act in own {
            match act {
                Act::Process(ProcessAct::Settle(settled)) => self.worker_done(now, settled, acts),
                act => acts.push(act),
            }
        }
    }

    fn deadline(&self) -> Option<VTime> {
        [self.worker.deadline(), self.writes].into_iter().flatten().min()
    }

    /// None: a worker that lives is bound by its prompt timeout, but a job whose worker died or never started ends only
    /// on a person's command, and a queued one not even then (defect f).
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            rules: _, // not compared: they never change after construction
            worker,
            next_id: _, // not compared: it only names the next request
            prompt,
            job,
            now,
            waiting,
            settled,
            polled,
            writes,
        } = self;
        worker.canon(canon);
        canon.flag(*settled).flag(*polled).deadline(*writes);
        option(canon, prompt.as_ref(), |canon, (session, prompt)| {
            canon.text(session).text(prompt);
        });
        option(canon, job.as_ref(), |canon, job| job.canon(canon, STILL));
        let mut probe = None;
        match now {
            Doing::Nothing => drop(canon.num(0)),
            Doing::Starts => drop(canon.num(1)),
            Doing::Probes(run, id) => {
                run.canon(canon.num(2));
                probe = Some(*id);
            }
            Doing::LooksAtWorker(run, found) => {
                run.canon(canon.num(3));
                found.canon(canon);
            }
        }
        canon.num(waiting.len() as u64);
        waiting.iter().for_each(|run| run.canon(canon));
        // Two machines share one space of ids, so a later request may have the lower id: this writes which request is
        // which, in the order of ids. An abort is left out: no one waits for its response, and no request comes after
        // it.
        let [sent, poll] = worker.under_way();
        let mut under_way: Vec<(u32, u64)> =
            [sent, poll, probe].into_iter().zip(0..).filter_map(|(id, what)| Some((id?, what))).collect();
        under_way.sort_unstable();
        canon.list(&under_way, |canon, (_, what)| {
            canon.num(*what);
        });
    }

    fn sends_prompt(&self) -> bool {
        true
    }
}

impl Probe {
    fn canon(&self, canon: &mut Canon) {
        match self {
            Probe::Unreachable(why) => drop(canon.num(0).text(why)),
            Probe::Open(touched) => option(canon.num(1), *touched, |canon, touched| {
                canon.age(touched, STILL);
            }),
        }
    }
}

impl Run {
    fn canon(self, canon: &mut Canon) {
        canon.num(match self {
            Run::Heal { dry: false } => 0,
            Run::Heal { dry: true } => 1,
            Run::Status => 2,
            Run::Result => 3,
            Run::Monitor => 4,
            Run::StatusOf(false) => 5,
            Run::StatusOf(true) => 6,
            Run::ResumeCandidate => 7,
        });
    }
}
