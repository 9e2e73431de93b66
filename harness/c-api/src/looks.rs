//! The looks of all guards of this program, taken together.
//!
//! Most of a look's cost is to read the other processes of the machine, and that is the same for all guards: twenty looks in one
//! cost about as much as one. So a look waits for those of other guards that are due soon; from then on these guards look at the
//! same time, as long as nothing is said.
//!
//! Invariant: a look begins at most [`PATIENCE`] after it is asked for, and at once if no other guard's is due before then; or,
//! while a look is under way, when that is over.

use rehang_evidence::{Look, Subject, look_together};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a look waits for others: half of the shortest time from one look of guard to the next.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a look that waits sees who else has come.
const STEP: Duration = Duration::from_millis(100);

/// Who looks next.
struct Desk {
    /// When each guard will want to look, or to do something else.
    due: BTreeMap<u64, Instant>,
    waiting: Vec<Waiting>,
    /// A thread looks, or waits for others.
    is_open: bool,
    next_seat: u64,
}

/// A look that was asked for.
struct Waiting {
    seat: u64,
    since: Instant,
    subject: Subject,
    tell: Sender<Look>,
}

static DESK: Mutex<Desk> = Mutex::new(Desk { due: BTreeMap::new(), waiting: Vec::new(), is_open: false, next_seat: 0 });

fn desk() -> MutexGuard<'static, Desk> {
    // no panic leaves it half written
    DESK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard's place.
pub(crate) struct Seat(u64);

impl Seat {
    pub(crate) fn take() -> Seat {
        let mut desk = desk();
        desk.next_seat += 1;
        Seat(desk.next_seat)
    }

    /// When the guard is to be asked next, from now; `None` if it waits for nothing.
    pub(crate) fn is_due(&self, rest: Option<Duration>) {
        let at = rest.and_then(|rest| Instant::now().checked_add(rest));
        match at {
            Some(at) => drop(desk().due.insert(self.0, at)),
            None => drop(desk().due.remove(&self.0)),
        }
    }

    /// Has a look taken; `None` if the machine gives no more threads.
    pub(crate) fn look(&self, subject: Subject) -> Option<Receiver<Look>> {
        let (tell, told) = channel();
        let mut desk = desk();
        desk.waiting.push(Waiting { seat: self.0, since: Instant::now(), subject, tell });
        if !desk.is_open {
            let begun = std::thread::Builder::new().name("rehang-look".to_owned()).spawn(run);
            desk.is_open = begun.is_ok();
        }
        desk.is_open.then_some(told)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut desk = desk();
        desk.due.remove(&self.0);
        desk.waiting.retain(|waiting| waiting.seat != self.0);
    }
}

/// Looks until no look is asked for.
fn run() {
    /// Says that nobody is at the desk any more, also after a panic.
    struct Open;
    impl Drop for Open {
        fn drop(&mut self) {
            desk().is_open = false;
        }
    }
    let open = Open;
    loop {
        let mut all = desk();
        if all.waiting.is_empty() {
            // while the desk is held, so that no request is left alone
            all.is_open = false;
            std::mem::forget(open);
            return;
        }
        if all.waits_for_others(Instant::now()) {
            drop(all);
            std::thread::sleep(STEP);
            continue;
        }
        let waiting = std::mem::take(&mut all.waiting);
        drop(all);
        let subjects: Vec<Subject> = waiting.iter().map(|waiting| waiting.subject.clone()).collect();
        for (waiting, look) in waiting.into_iter().zip(look_together(&subjects)) {
            // nobody listens any more if the guard was freed meanwhile
            let _ = waiting.tell.send(look);
        }
    }
}

impl Desk {
    /// Whether the look of another guard is due soon enough.
    fn waits_for_others(&self, now: Instant) -> bool {
        let Some(until) = self.waiting.iter().map(|waiting| waiting.since + PATIENCE).min() else { return false };
        let has_asked = |seat: u64| self.waiting.iter().any(|waiting| waiting.seat == seat);
        // one that is overdue is not asked any more: it is nobody to wait for
        let overdue = now.checked_sub(2 * STEP);
        let comes = |at: Instant| at <= until && overdue.is_none_or(|overdue| at >= overdue);
        now < until && self.due.iter().any(|(seat, at)| !has_asked(*seat) && comes(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_waits_for_those_that_are_due_soon_and_for_no_other() {
        let (now, (tell, _told)) = (Instant::now(), channel());
        let subject = Subject { pid: 1, names: Default::default(), heard: Default::default(), asks: false };
        let waiting = vec![Waiting { seat: 1, since: now, subject, tell }];
        let desk = |due: &[(u64, Instant)]| Desk {
            due: due.iter().copied().collect(),
            waiting: Vec::new(),
            is_open: true,
            next_seat: 2,
        };
        let mut of = desk(&[(1, now), (2, now + PATIENCE)]);
        assert!(!of.waits_for_others(now), "nobody waits");
        of.waiting = waiting;
        assert!(of.waits_for_others(now) && of.waits_for_others(now + PATIENCE - STEP));
        assert!(!of.waits_for_others(now + PATIENCE), "patience is over");
        of.due = desk(&[(1, now + STEP), (2, now + PATIENCE + STEP)]).due;
        assert!(!of.waits_for_others(now), "its own does not count, nor one that is too late");
        of.due = desk(&[(2, now + STEP)]).due;
        assert!(
            of.waits_for_others(now + 2 * STEP) && !of.waits_for_others(now + 4 * STEP),
            "it is not asked any more"
        );
    }
}
