//! The mechanisms by which agents hang, and the healthy runs that look like it.
//!
//! Invariant: an id never changes its meaning; a scenario names one mechanism, and the scoreboard has a row for each.

/// A mechanism of the hang catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mechanism {
    /// `Q1`, `B6`, …; `F1`–`F12` are healthy runs that look like a hang.
    pub id: &'static str,
    /// A short name.
    pub name: &'static str,
}

impl Mechanism {
    /// The layer, in a word: the scoreboard is sorted by it.
    pub fn layer(&self) -> &'static str {
        match self.id.as_bytes().first() {
            Some(b'Q') => "question",
            Some(b'P') => "permission",
            Some(b'S') => "stdin",
            Some(b'B') => "bash",
            Some(b'C') => "child",
            Some(b'T') => "terminal",
            Some(b'E') => "events",
            Some(b'M') => "model",
            Some(b'X') => "startup",
            Some(b'R') => "locks",
            Some(b'H') => "lifecycle",
            _ => "benign",
        }
    }

    /// Whether this is a healthy run that only looks like a hang.
    pub fn benign(&self) -> bool {
        self.layer() == "benign"
    }
}

/// The mechanism with this id.
pub fn mechanism(id: &str) -> Option<&'static Mechanism> {
    MECHANISMS.iter().find(|m| m.id == id)
}

/// All mechanisms, in the catalogue's order.
pub const MECHANISMS: [Mechanism; 87] = [
    Mechanism { id: "Q1", name: "question-no-answerer" },
    Mechanism { id: "Q2", name: "question-nested" },
    Mechanism { id: "Q3", name: "concurrent-asks-lost" },
    Mechanism { id: "Q4", name: "plan-approval-gate" },
    Mechanism { id: "Q5", name: "question-as-final-text" },
    Mechanism { id: "P1", name: "permission-headless" },
    Mechanism { id: "P2", name: "permission-child-session" },
    Mechanism { id: "P3", name: "responder-never-replies" },
    Mechanism { id: "P4", name: "control-channel-closed-or-mute" },
    Mechanism { id: "S1", name: "stdin-open-never-eof" },
    Mechanism { id: "S2", name: "stdin-shared-consumer" },
    Mechanism { id: "S3", name: "hook-stdin-never-closed" },
    Mechanism { id: "B1", name: "child-reads-stdin" },
    Mechanism { id: "B2", name: "child-opens-dev-tty" },
    Mechanism { id: "B3", name: "pager" },
    Mechanism { id: "B4", name: "editor" },
    Mechanism { id: "B5", name: "never-ending-foreground" },
    Mechanism { id: "B6", name: "background-holds-pipe-silent" },
    Mechanism { id: "B7", name: "background-holds-pipe-noisy" },
    Mechanism { id: "B8", name: "timeout-kills-shell-only" },
    Mechanism { id: "B9", name: "grandchild-escapes-group" },
    Mechanism { id: "B10", name: "child-ignores-term" },
    Mechanism { id: "B11", name: "daemon-holds-fd" },
    Mechanism { id: "B12", name: "special-file-read" },
    Mechanism { id: "B13", name: "tool-promise-lost" },
    Mechanism { id: "C1", name: "stderr-undrained" },
    Mechanism { id: "C2", name: "server-pipe-read-only-at-boot" },
    Mechanism { id: "C3", name: "final-result-truncated" },
    Mechanism { id: "C4", name: "exit-missed" },
    Mechanism { id: "C5", name: "spawn-error-no-exit-event" },
    Mechanism { id: "C6", name: "consumer-stops-reading" },
    Mechanism { id: "C7", name: "stdout-mute" },
    Mechanism { id: "T1", name: "stopped-by-sigttin-or-sigttou" },
    Mechanism { id: "T2", name: "terminal-query-unanswered" },
    Mechanism { id: "T3", name: "first-run-or-trust-dialog" },
    Mechanism { id: "T4", name: "submit-swallowed" },
    Mechanism { id: "T5", name: "raw-mode-lost-after-cont" },
    Mechanism { id: "T6", name: "pty-master-not-read" },
    Mechanism { id: "T7", name: "spinner-masked-stall" },
    Mechanism { id: "E1", name: "terminal-event-lost-on-reconnect" },
    Mechanism { id: "E2", name: "half-open-stream" },
    Mechanism { id: "E3", name: "never-idle" },
    Mechanism { id: "E4", name: "tool-part-stuck" },
    Mechanism { id: "E5", name: "prompt-accepted-no-turn" },
    Mechanism { id: "E6", name: "blocking-post" },
    Mechanism { id: "E7", name: "premature-idle" },
    Mechanism { id: "E8", name: "server-mute" },
    Mechanism { id: "E9", name: "task-no-timeout" },
    Mechanism { id: "M1", name: "stream-stall" },
    Mechanism { id: "M2", name: "keepalive-masked-stall" },
    Mechanism { id: "M3", name: "truncated-finish" },
    Mechanism { id: "M4", name: "fatal-error-no-exit" },
    Mechanism { id: "M5", name: "retry-forever" },
    Mechanism { id: "M6", name: "compaction-loop" },
    Mechanism { id: "M7", name: "repeat-tool-livelock" },
    Mechanism { id: "M8", name: "silent-gap-after-result" },
    Mechanism { id: "M9", name: "stale-socket" },
    Mechanism { id: "M10", name: "limit-over-not-resumed" },
    Mechanism { id: "X1", name: "mcp-init-never" },
    Mechanism { id: "X2", name: "mcp-call-never-returns" },
    Mechanism { id: "X3", name: "mcp-elicitation-headless" },
    Mechanism { id: "X4", name: "browser-wait" },
    Mechanism { id: "X5", name: "hook-blocks" },
    Mechanism { id: "X6", name: "startup-network" },
    Mechanism { id: "X7", name: "hook-backpressure" },
    Mechanism { id: "X8", name: "fs-blocked" },
    Mechanism { id: "R1", name: "sqlite-lock" },
    Mechanism { id: "R2", name: "file-lock" },
    Mechanism { id: "H1", name: "no-exit-after-result" },
    Mechanism { id: "H2", name: "parent-gone-orphan" },
    Mechanism { id: "H3", name: "leaked-children" },
    Mechanism { id: "H4", name: "signal-ignored" },
    Mechanism { id: "H5", name: "lost-wakeup" },
    Mechanism { id: "H6", name: "cpu-spin" },
    Mechanism { id: "H7", name: "awaits-next-input" },
    Mechanism { id: "F1", name: "long-silent-build" },
    Mechanism { id: "F2", name: "network-bound-model-wait" },
    Mechanism { id: "F3", name: "slow-thinking" },
    Mechanism { id: "F4", name: "waiting-for-a-human" },
    Mechanism { id: "F5", name: "waiting-out-a-rate-limit" },
    Mechanism { id: "F6", name: "parent-waits-for-a-live-child" },
    Mechanism { id: "F7", name: "legitimate-polling" },
    Mechanism { id: "F8", name: "output-at-the-end" },
    Mechanism { id: "F9", name: "comment-heartbeats" },
    Mechanism { id: "F10", name: "survivors-on-purpose" },
    Mechanism { id: "F11", name: "between-connect-retries" },
    Mechanism { id: "F12", name: "batched-json" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_is_numbered_without_a_gap() {
        let groups =
            [("Q", 5), ("P", 4), ("S", 3), ("B", 13), ("C", 7), ("T", 7), ("E", 9), ("M", 10), ("X", 8), ("R", 2)];
        for (group, last) in groups.into_iter().chain([("H", 7), ("F", 12)]) {
            let ids: Vec<&str> = MECHANISMS.iter().map(|m| m.id).filter(|id| id.starts_with(group)).collect();
            assert_eq!(ids, (1..=last).map(|n| format!("{group}{n}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_group_is_a_layer() {
        let layer = |id: &str| mechanism(id).map(|m| (m.layer(), m.benign())).unwrap();
        let layers = ["Q1", "P1", "S1", "B1", "C1", "T1", "E1", "M1", "X1", "R1", "H1"].map(layer);
        let names = [
            "question",
            "permission",
            "stdin",
            "bash",
            "child",
            "terminal",
            "events",
            "model",
            "startup",
            "locks",
            "lifecycle",
        ];
        assert_eq!(layers, names.map(|name| (name, false)));
        assert_eq!(layer("F1"), ("benign", true));
        assert_eq!(mechanism("Q99"), None);
    }
}
