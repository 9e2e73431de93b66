//! How much is kept of a log. A log has no limit: whatever its size, memory is bounded by these limits.
//!
//! Invariant: what a reader keeps is the product of these, about 40 MiB at most.

/// The longest line, or element of a JSON document, that is read; a longer one is skipped and counted.
pub const RECORD_BYTES: usize = 4 << 20;
/// The longest run of NUL bytes that is skipped as a hole: 1 GiB. A device of zeros never ends.
pub const NUL_BYTES: u64 = 1 << 30;
/// JSON values inside each other; deeper ones are not looked into.
pub const NESTING: usize = 64;
/// Sessions of an agent that are kept.
pub const SESSIONS: usize = 128;
/// The latest steps of a session that are kept.
pub const STEPS: usize = 48;
/// Asks that are kept; open ones go last.
pub const ASKS: usize = 128;
/// Bytes of one text that are kept. They are masked before they are cut to what is shown.
pub const TEXT_BYTES: usize = 4 << 10;
/// Characters of one text in what is written.
pub const SHOWN_CHARS: usize = 400;
/// Options of a question, questions of an ask, patterns of a permission.
pub const LIST: usize = 24;
/// Output lines of a plain program that are kept.
pub const LINES: usize = 256;
/// Kinds of events, and kinds of trouble, that are counted by name; the rest is counted together.
pub const KINDS: usize = 64;
/// The default number of turns of a drafted scenario.
pub const TURNS: usize = 5;
/// What ends at most this long before a stop was ended by it, in milliseconds: the events come before the request's
/// response.
pub const STOP_TAKES_MS: u64 = 1_000;
/// Gaps between events below this are not written down, in milliseconds.
pub const GAP_MS: u64 = 100;
/// The longest gap that is written down: 30 days. A longer one means that two clocks were read.
pub const GAP_MAX_MS: u64 = 30 * 24 * 3_600_000;
/// The silence by the log's own clock, in milliseconds, from which on a silent model is named: the same limit as in the
/// diagnosis of a live process, since a stream that flows has no healthy pause of a minute.
pub const SILENT_MS: u64 = 60_000;
/// The silence by the log's own clock, in milliseconds, from which on the run counts as hung: the longest limit that
/// Claude Code's tools let a model set for a command.
pub const GOES_ON_MS: u64 = 600_000;
/// The longest that a user can say a process was alive: 30 days, in milliseconds.
pub const ALIVE_MAX_MS: u64 = GAP_MAX_MS;
