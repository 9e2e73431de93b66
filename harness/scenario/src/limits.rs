//! How much a scenario file may hold. A file with more is an error with a place, and never makes the program slow or
//! crash.
//!
//! Invariant: whatever the bytes, loading takes time and memory in proportion to what is allowed here.

/// A whole file, in bytes.
pub const FILE_BYTES: usize = 1 << 20;
/// One text, in bytes.
pub const TEXT_BYTES: usize = 256 << 10;
/// Turns of a scenario, those of subagents and nested agents included.
pub const TURNS: usize = 1_000;
/// One argument, or one environment variable with its name, in bytes: Linux allows 131,072 with its end
/// (MAX_ARG_STRLEN), and what a fake adds of its own must fit beside it.
pub const ARG_BYTES: usize = 64 << 10;
/// One string among a process's arguments and variables, in bytes without its closing NUL: Linux allows 131,072 with it
/// (MAX_ARG_STRLEN, execve(2)).
pub const EXEC_STRING_BYTES: usize = (128 << 10) - 1;
/// All arguments and variables of one process, with a NUL and a pointer each, in bytes: three quarters of what Linux
/// allows, which is a quarter of the usual stack limit of 8 MiB (execve(2)). A file cannot reach it: a file is limited
/// to [`FILE_BYTES`], and what is derived from it (steps as JSON, a plan) to [`EXEC_STRING_BYTES`] each.
pub const EXEC_BYTES: usize = 1_536 << 10;
/// The steps of one process, which it gets as one argument, in bytes of JSON.
pub const STEPS_BYTES: usize = EXEC_STRING_BYTES;
/// A nested agent with its turns, which it gets in one variable, in bytes of JSON: 1,024 bytes are left for the
/// variable's name and the strategies inside the agent.
pub const NESTED_BYTES: usize = EXEC_STRING_BYTES - 1_024;
/// Lines of one `every` that does not go on for ever: each is a step of the kernel's.
pub const EVERY_TIMES: u32 = 10_000;
/// Runs of the caller's loop.
pub const RUNS: u32 = 100;
/// Processes that are left behind, over all runs: they exist at the same time.
pub const LEFT_BEHIND: usize = 1_000;
/// Faults of a scenario.
pub const FAULTS: usize = 100;
/// Tables and lists inside each other.
pub const NESTING: usize = 16;
/// Elements of any other list, entries of any table.
pub const LIST: usize = 1_000;
/// Variants of a family.
pub const VARIANTS: usize = 128;
/// Keys and list elements of a file. TOML's own rules on repeated tables cost time in proportion to the square of this
/// number.
pub const VALUES: usize = 50_000;
/// Table headers of a file, for the same reason.
pub const HEADERS: usize = 2_000;
/// Bytes of a file times its variants and their control arms: each is a whole scenario in memory.
pub const FAMILY_BYTES: usize = 32 << 20;
/// Cells of a file.
pub const CELLS: usize = 100_000;
/// Characters of a variant's name, a file's name in a cell, a stack.
pub use rehang_words::text::NAME_CHARS;
/// Errors of one file that are shown.
pub const PROBLEMS: usize = 100;

/// Brackets inside each other that the parser gets: `[[vary]]` with its `set` and the path in it come on top of
/// [`NESTING`], which is checked on the scenario that comes out.
pub(crate) const BRACKETS: usize = NESTING + 8;

/// The longest result of a tool server's tool, in bytes: it is an argument of the server.
pub const TOOL_OUTPUT_BYTES: usize = 16_384;
