//! A look that a strategy asks for: two snapshots, a window apart, and what they mean.
//!
//! Invariant: what a later look can show of the past is in the compared state: ages up to the largest that a rule asks
//! for, what the agents have said of themselves, and which look is under way.

use super::super::hub::Hub;
use super::WINDOW;
use rehang_evidence::{Diagnosis, Limits, Snapshot, diagnose_only};
use rehang_scenario::{Canon, VTime};

/// The greatest age that a rule of the diagnosis asks for: twice the silence of [`Limits`].
const OLD_MS: u64 = 120_000;

/// The looks of one strategy.
#[derive(Debug, Default)]
pub struct Glance {
    /// The first snapshot of the look that is under way, and when the second is due.
    under_way: Option<(Snapshot, VTime)>,
    /// How many looks there have been.
    count: u64,
}

impl Glance {
    /// Takes the first snapshot of a look.
    pub fn begin(&mut self, hub: &mut Hub<'_>) {
        self.count += 1;
        self.under_way = Some((hub.evidence_now(), hub.now + WINDOW));
    }

    /// When the second snapshot is due.
    pub fn deadline(&self) -> Option<VTime> {
        self.under_way.as_ref().map(|(_, due)| *due)
    }

    /// Takes the second snapshot if it is due; returns what both mean.
    pub fn end(&mut self, hub: &mut Hub<'_>) -> Option<Diagnosis> {
        let (before, _) = self.under_way.take_if(|(_, due)| *due <= hub.now)?;
        Some(diagnose_only(&before, &hub.evidence_now(), &Limits::default()))
    }

    /// Writes what a later look can show of the past; nothing for a strategy that never looked.
    pub fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let Self { under_way, count } = self;
        if *count == 0 {
            return;
        }
        if let Some((_, due)) = under_way {
            // the first snapshot is of one instant, and no other look has the same
            canon.num(*count).deadline(Some(*due));
        }
        // what follows costs as much as a look
        if canon.differs() {
            return;
        }
        let snapshot = hub.evidence();
        let ages = |ms: u64| ms.min(OLD_MS);
        for socket in snapshot.sockets.values() {
            if let Some(traffic) = socket.traffic {
                canon.num(ages(traffic.since_received_ms)).num(ages(traffic.since_sent_ms));
            }
        }
        for process in snapshot.tree.values() {
            canon.num(ages(snapshot.at_ns.saturating_sub(process.began_ns) / 1_000_000));
        }
        for agent in &snapshot.agents {
            canon.value(agent);
        }
    }
}
