//! The mechanisms by which agents hang, and the healthy runs that look like it.
//!
//! Invariant: an id never changes its meaning; a scenario names one mechanism, and the scoreboard has a row for each.

use crate::UnknownWord;
use rehang_words::prompt::WaitsAt;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

macro_rules! mechanisms {
    ($($layer:literal: $($id:ident $name:literal),+;)+) => {
        /// A mechanism of the catalogue: `Q1`, `B6`, …; `F1`–`F12` are healthy runs that look like a hang.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mechanism {
            $($(#[doc = $name] $id,)+)+
        }

        impl Mechanism {
            /// All mechanisms, in the catalogue's order.
            pub const ALL: &'static [Mechanism] = &[$($(Mechanism::$id,)+)+];

            /// Its id, such as `Q1`.
            pub const fn id(self) -> &'static str {
                match self {
                    $($(Mechanism::$id => stringify!($id),)+)+
                }
            }

            /// Its short name, such as `question-no-answerer`.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Mechanism::$id => $name,)+)+
                }
            }

            /// Its layer, in a word: the scoreboard is sorted by it.
            pub const fn layer(self) -> &'static str {
                match self {
                    $($(Mechanism::$id)|+ => $layer,)+
                }
            }
        }
    };
}

mechanisms! {
    "question": Q1 "question-no-answerer", Q2 "question-nested", Q3 "concurrent-asks-lost", Q4 "plan-approval-gate",
        Q5 "question-as-final-text";
    "permission": P1 "permission-headless", P2 "permission-child-session", P3 "responder-never-replies",
        P4 "control-channel-closed-or-mute";
    "stdin": S1 "stdin-open-never-eof", S2 "stdin-shared-consumer", S3 "hook-stdin-never-closed";
    "bash": B1 "child-reads-stdin", B2 "child-opens-dev-tty", B3 "pager", B4 "editor", B5 "never-ending-foreground",
        B6 "background-holds-pipe-silent", B7 "background-holds-pipe-noisy", B8 "timeout-kills-shell-only",
        B9 "grandchild-escapes-group", B10 "child-ignores-term", B11 "daemon-holds-fd", B12 "special-file-read",
        B13 "tool-promise-lost";
    "child": C1 "stderr-undrained", C2 "server-pipe-read-only-at-boot", C3 "final-result-truncated", C4 "exit-missed",
        C5 "spawn-error-no-exit-event", C6 "consumer-stops-reading", C7 "stdout-mute";
    "terminal": T1 "stopped-by-sigttin-or-sigttou", T2 "terminal-query-unanswered", T3 "first-run-or-trust-dialog",
        T4 "submit-swallowed", T5 "raw-mode-lost-after-cont", T6 "pty-master-not-read", T7 "spinner-masked-stall";
    "events": E1 "terminal-event-lost-on-reconnect", E2 "half-open-stream", E3 "never-idle", E4 "tool-part-stuck",
        E5 "prompt-accepted-no-turn", E6 "blocking-post", E7 "premature-idle", E8 "server-mute", E9 "task-no-timeout";
    "model": M1 "stream-stall", M2 "keepalive-masked-stall", M3 "truncated-finish", M4 "fatal-error-no-exit",
        M5 "retry-forever", M6 "compaction-loop", M7 "repeat-tool-livelock", M8 "silent-gap-after-result",
        M9 "stale-socket", M10 "limit-over-not-resumed";
    "startup": X1 "mcp-init-never", X2 "mcp-call-never-returns", X3 "mcp-elicitation-headless", X4 "browser-wait",
        X5 "hook-blocks", X6 "startup-network", X7 "hook-backpressure", X8 "fs-blocked";
    "locks": R1 "sqlite-lock", R2 "file-lock";
    "lifecycle": H1 "no-exit-after-result", H2 "parent-gone-orphan", H3 "leaked-children", H4 "signal-ignored",
        H5 "lost-wakeup", H6 "cpu-spin", H7 "awaits-next-input";
    "benign": F1 "long-silent-build", F2 "network-bound-model-wait", F3 "slow-thinking", F4 "waiting-for-a-human",
        F5 "waiting-out-a-rate-limit", F6 "parent-waits-for-a-live-child", F7 "legitimate-polling",
        F8 "output-at-the-end", F9 "comment-heartbeats", F10 "survivors-on-purpose", F11 "between-connect-retries",
        F12 "batched-json";
}

impl Mechanism {
    /// Whether this is a healthy run that only looks like a hang.
    pub fn is_benign(self) -> bool {
        self.layer() == "benign"
    }

    /// Why no scenario of this mechanism is proved to hang although that is not a gap of the corpus; `None` if one should.
    pub fn why_no_hang(self) -> Option<&'static str> {
        match self {
            Mechanism::Q5 => Some("nothing blocks: the run ends with a question"),
            Mechanism::C3 => Some("nothing blocks: the result is cut, and the exit code is 0"),
            Mechanism::E7 => Some("the opposite of a hang: a run that goes on is taken for over"),
            _ if self.is_benign() => Some("a healthy run"),
            _ => None,
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl FromStr for Mechanism {
    type Err = UnknownWord;

    /// The mechanism with this id.
    fn from_str(id: &str) -> Result<Mechanism, UnknownWord> {
        Mechanism::ALL.iter().copied().find(|mechanism| mechanism.id() == id).ok_or(UnknownWord)
    }
}

impl From<WaitsAt> for Mechanism {
    fn from(waits: WaitsAt) -> Mechanism {
        match waits {
            WaitsAt::Stdin => Mechanism::B1,
            WaitsAt::EndOfStdin => Mechanism::S1,
            WaitsAt::Terminal => Mechanism::B2,
            WaitsAt::Pager => Mechanism::B3,
            WaitsAt::Editor => Mechanism::B4,
            WaitsAt::Query => Mechanism::T2,
            WaitsAt::Dialog => Mechanism::T3,
            WaitsAt::Permission => Mechanism::P1,
            WaitsAt::Menu => Mechanism::Q1,
            WaitsAt::Nothing => Mechanism::B5,
        }
    }
}

impl Serialize for Mechanism {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_has_its_letter_and_is_numbered_without_a_gap() {
        let layers = Mechanism::ALL.chunk_by(|a, b| a.layer() == b.layer());
        let runs: Vec<(&str, usize)> = layers.map(|of| (of[0].layer(), of.len())).collect();
        let letters = ["Q", "P", "S", "B", "C", "T", "E", "M", "X", "R", "H", "F"];
        assert_eq!(runs.len(), letters.len());
        let ids =
            runs.iter().zip(letters).flat_map(|((_, last), letter)| (1..=*last).map(move |n| format!("{letter}{n}")));
        assert_eq!(ids.collect::<Vec<_>>(), Mechanism::ALL.iter().map(ToString::to_string).collect::<Vec<_>>());
    }

    #[test]
    fn a_mechanism_is_parsed_by_its_id() {
        assert_eq!(("B10".parse(), "Q99".parse::<Mechanism>()), (Ok(Mechanism::B10), Err(UnknownWord)));
        assert!(Mechanism::F1.is_benign() && !Mechanism::H1.is_benign());
    }
}
