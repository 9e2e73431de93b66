//! The loop: handles stops, expires deadlines, jumps when all are asleep, and says how the run ended.

use super::signals::Forwarder;
use super::timed::SECOND;
use super::tracer::{Owner, RootEnd, Tracer};
use super::tree::{Schedule, State};
use super::{proof, sys};
use crate::{Call, Ending, Limit, Look, Next, Note, Process, Thread, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the tracer looks for events before it sleeps.
const SPINS: u32 = 40;
/// How long it sleeps first, and at most.
const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));

/// How much real time the command has to end after its last signal.
const LAST_WORD: Duration = Duration::from_secs(60);

/// How much real time what is left has to be gone after SIGKILL. One that a cgroup of version 1 freezes is not before it is
/// thawed.
const KILL: Duration = Duration::from_secs(10);

/// After how many jumps in a row without a thread that waits for the outside none is looked for.
const ALONE: u32 = 100;

/// What a run keeps while it waits for the tree.
#[derive(Default)]
struct Patience {
    /// Looks for events since the last one.
    spins: u32,
    nap: Duration,
    /// Processor time of each process when the clock moved last, and what was used since, in ns.
    used: BTreeMap<i32, u64>,
    total: u64,
    /// When time began to flow, and how much processor time was used then.
    flow: Option<(u64, u64)>,
    /// Since when, in real time, the tree has waited for the outside.
    outside_since: Option<Instant>,
    /// The outside did not act in time: no jump waits for it until it does.
    gave_up: bool,
    /// How many jumps in a row had no thread that waited for the outside.
    alone: u32,
}

impl Tracer<'_> {
    /// Runs the tree to its end.
    pub fn run(&mut self, mut signals: Option<Forwarder>) -> Ending {
        let mut patience = Patience { nap: NAPS.0, ..Patience::default() };
        loop {
            if self.handle_events() {
                (patience.spins, patience.nap) = (0, NAPS.0);
                if patience.outside_since.take().is_some() {
                    (patience.gave_up, patience.alone) = (false, 0);
                }
            }
            if let Some(end) = self.root_end {
                return self.finish(match end {
                    RootEnd::Code(code) => Verdict::Exited { code },
                    RootEnd::Signal(signal) => Verdict::Signalled { signal },
                });
            }
            if self.real_end.is_some_and(|end| Instant::now() >= end) {
                match self.conclude(Verdict::OutOfTime, &mut patience) {
                    Some(ending) => return ending,
                    None => continue,
                }
            }
            if let Some((at, owner)) = self.next_deadline()
                && at <= self.clock.now
                && owner != Owner::Look
            {
                self.expire(owner);
                patience.spins = 0;
                continue;
            }
            let is_active = self.threads.values().any(|thread| thread.is_active && thread.state != State::Parked);
            if is_active && patience.spins < SPINS {
                patience.spins += 1;
                sys::yield_now();
                continue;
            }
            if self.is_quiescent() {
                if self.handle_events() {
                    patience.spins = 0;
                    continue;
                }
                if signals.as_mut().is_some_and(|signals| signals.forward(self.root)) {
                    // it is no longer asleep
                    self.over = None;
                    self.wake();
                    continue;
                }
                patience.forget_use();
                if let Some(verdict) = self.step(&mut patience)
                    && let Some(ending) = self.conclude(verdict, &mut patience)
                {
                    return ending;
                }
            } else {
                if let Some(signals) = &mut signals {
                    signals.forward(self.root);
                }
                self.wait_for_the_tree(&mut patience);
                // time flows while it computes; else what expired at the last instant is waited for
                if self.told.is_none() && patience.flow.is_some() && self.clock.now >= self.horizon() {
                    let verdict = Verdict::Horizon { waits: proof::waits(self) };
                    if let Some(ending) = self.conclude(verdict, &mut patience) {
                        return ending;
                    }
                }
            }
        }
    }

    /// The end of the virtual time.
    fn horizon(&self) -> u64 {
        super::clock::START.saturating_add(u64::try_from(self.settings.until.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The run is over, unless the command has a last signal to come: then it goes on at this instant.
    fn conclude(&mut self, verdict: Verdict, patience: &mut Patience) -> Option<Ending> {
        match self.settings.last_signal {
            Some(signal) if self.told.is_none() => {
                self.told = Some(self.over.take().unwrap_or_else(|| self.ending(verdict)));
                self.settings.until = self.clock.elapsed();
                self.look_at = None;
                self.real_end = Some(Instant::now() + LAST_WORD);
                self.log(|| format!("the last signal: {signal}"));
                sys::kill(self.root, signal);
                self.wake();
                *patience = Patience { nap: NAPS.0, ..Patience::default() };
                None
            }
            _ => Some(self.finish(verdict)),
        }
    }

    /// A signal was sent to the command: threads of the tree may run from now on.
    fn wake(&mut self) {
        for thread in self.threads.values_mut().filter(|thread| thread.state == State::Free) {
            thread.is_active = true;
        }
    }

    /// All are asleep: goes to the next deadline, or says how the run ends.
    fn step(&mut self, patience: &mut Patience) -> Option<Verdict> {
        self.find_socket_waits();
        let next = loop {
            match self.next_deadline_of_tree() {
                // nobody has it any more
                Some((_, Owner::TimerFd(tag))) if !self.keep_timerfd(tag) => {}
                next => break next,
            }
        };
        let is_last = next.is_none();
        let next = self.look_at.map(|at| (at, Owner::Look)).into_iter().chain(next).min();
        if self.over.is_none() {
            if self.waits_for_outside(patience, is_last) {
                return None;
            }
            if is_last {
                let waits = proof::waits(self);
                let verdict = proof::verdict(waits, self.record.has_note(Limit::ThirtyTwoBit));
                // the outside may still act on any other, in real time
                if self.look_at.is_none() || !matches!(verdict, Verdict::Deadlock { .. }) {
                    return Some(verdict);
                }
                self.over = Some(self.ending(verdict));
            }
        }
        let horizon = self.horizon();
        match next {
            None => self.over.as_ref().map(|ending| ending.verdict.clone()),
            Some((at, _)) if at > horizon => {
                self.set_now(horizon);
                Some(Verdict::Horizon { waits: proof::waits(self) })
            }
            Some((at, owner)) => {
                let at = if owner == Owner::Look { at } else { self.clock.on_grid(at) };
                let at = self.look_at.map_or(at, |look| at.min(look.max(self.clock.now)));
                if at > self.clock.now {
                    self.record.jumps += 1;
                    self.set_now(at);
                }
                match self.look_at {
                    Some(look) if look <= self.clock.now => return self.take_look(),
                    _ if owner == Owner::Look => {}
                    _ => self.expire(owner),
                }
                (patience.spins, patience.nap) = (0, NAPS.0);
                None
            }
        }
    }

    /// Gives the outside some real time to act if a thread waits for it: before the first jumps and before the end.
    fn waits_for_outside(&mut self, patience: &mut Patience, is_last: bool) -> bool {
        let can_wait = self.has_input || self.has_internet;
        if !can_wait || (!is_last && (patience.gave_up || patience.alone >= ALONE)) {
            return false;
        }
        if !proof::has_outside(self) {
            patience.alone += 1;
            patience.outside_since = None;
            return false;
        }
        if patience.outside_since.get_or_insert_with(Instant::now).elapsed() >= self.settings.outside {
            (patience.gave_up, patience.outside_since) = (true, None);
            return false;
        }
        std::thread::sleep(NAPS.1);
        true
    }

    /// Some thread runs: sleeps a little, and lets time flow if they have run for long.
    fn wait_for_the_tree(&mut self, patience: &mut Patience) {
        std::thread::sleep(patience.nap);
        patience.nap = (patience.nap * 2).min(NAPS.1);
        if patience.nap < NAPS.1 || self.told.is_some() {
            return;
        }
        patience.count_use(self.processes.keys().copied());
        if u128::from(patience.total) <= self.settings.busy.as_nanos() {
            return;
        }
        if patience.flow.is_none() {
            self.log(|| "time flows: the tree computes".to_owned());
        }
        self.record.repeatable = false;
        let (from, used) = *patience.flow.get_or_insert((self.clock.now, patience.total));
        let at = from.saturating_add(flown(patience.total - used));
        let next = self.next_deadline().map_or(u64::MAX, |(at, _)| at);
        self.set_now(at.min(next.max(self.clock.now)).min(self.horizon()));
    }

    /// Shows the tree to the caller.
    fn take_look(&mut self) -> Option<Verdict> {
        let look = self.view();
        self.record.looked_at = Some(self.clock.now);
        let next = match &mut self.look {
            Some(see) => see(&look),
            None => Next::Never,
        };
        self.set_next_look(next);
        (next == Next::Stop).then_some(Verdict::Stopped)
    }

    /// The tree as it is.
    pub fn view(&self) -> Look {
        let left = |schedule: Option<Schedule>| {
            schedule.map(|schedule| Duration::from_nanos(schedule.at.saturating_sub(self.clock.now)))
        };
        let processes = self.processes.iter().map(|(pid, process)| {
            let (born, alarm) = (self.clock.since_start(process.born), left(process.interval_timer));
            (process.birth, Process { pid: *pid, born, alarm })
        });
        Look {
            at: self.clock.elapsed(),
            date: self.clock.date(),
            root: self.root,
            threads: by_birth(self.threads.iter().map(|(tid, thread)| (thread.birth, self.view_of(*tid)))),
            processes: by_birth(processes),
            timerfds: self.timerfds.iter().map(|(tag, timer)| (*tag, left(timer.schedule))).collect(),
            jumps: Arc::clone(&self.record.jumped),
        }
    }

    fn view_of(&self, tid: i32) -> Thread {
        let (call, deadline) = proof::call_of(self, tid);
        let thread = &self.threads[&tid];
        let stopped = thread.state == State::Stopped;
        let call = call.map(|(number, arguments)| Call { number, arguments });
        Thread { pid: thread.pid, tid, call, deadline, stopped }
    }

    /// Ends the run, and says how it ended.
    fn finish(&mut self, verdict: Verdict) -> Ending {
        let over = self.over.take().filter(|_| self.root_end.is_none());
        let mut ending = self.told.take().or(over).unwrap_or_else(|| self.ending(verdict));
        self.kill_all();
        let alive = self.threads.values().filter(|thread| self.processes.contains_key(&thread.pid));
        ending.notes.extend(alive.map(|thread| Note { program: thread.name.clone(), what: Limit::NotKilled }));
        ending.notes.dedup();
        ending
    }

    /// What is reported.
    fn ending(&self, verdict: Verdict) -> Ending {
        Ending {
            verdict,
            elapsed: self.clock.elapsed(),
            real: self.record.began.elapsed(),
            jumps: self.record.jumps,
            last: self.record.last.clone(),
            timers: self.record.timers(),
            repeatable: self.record.repeatable,
            lengthened: self.record.lengthened,
            notes: self.record.notes(),
            left: self.processes.len(),
            exits: self.record.exits.clone(),
        }
    }

    /// Kills what is left, and waits until it is gone, or for [`KILL`].
    fn kill_all(&mut self) {
        let end = Instant::now() + KILL;
        while !self.threads.is_empty() && Instant::now() < end {
            for pid in self.processes.keys().chain(self.threads.keys()) {
                sys::kill(*pid, libc::SIGKILL);
            }
            if !self.handle_events() {
                std::thread::sleep(NAPS.0);
            }
        }
    }
}

impl Patience {
    /// The clock moved: counts processor time anew.
    fn forget_use(&mut self) {
        if self.total > 0 || !self.used.is_empty() {
            (self.total, self.flow) = (0, None);
            self.used.clear();
        }
    }

    /// Adds what living processes used since the last time.
    fn count_use(&mut self, pids: impl Iterator<Item = i32>) {
        for pid in pids {
            let Some(now) = sys::cpu_time(pid) else { continue };
            let before = self.used.insert(pid, now);
            self.total += before.map_or(0, |before| now.saturating_sub(before));
        }
    }
}

/// What has a birth, in the order of that.
fn by_birth<T>(all: impl Iterator<Item = (u64, T)>) -> Vec<T> {
    let mut all: Vec<(u64, T)> = all.collect();
    all.sort_by_key(|(birth, _)| *birth);
    all.into_iter().map(|(_, one)| one).collect()
}

/// How far virtual time has flown after so much processor time: as far as that first, and twice as fast after each half
/// second of it. In ns.
fn flown(used: u64) -> u64 {
    let seconds = used as f64 / SECOND as f64;
    let flown = ((2.0 * seconds).exp2() - 1.0) / (2.0 * std::f64::consts::LN_2);
    (flown * SECOND as f64).min(1e18) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_flows_twice_as_fast_after_each_half_second() {
        assert_eq!(flown(0), 0);
        let (one, two) = (flown(SECOND / 2), flown(SECOND));
        // the second half second takes twice as long as the first
        assert_eq!((two - one) / 1_000, 2 * one / 1_000);
    }
}
