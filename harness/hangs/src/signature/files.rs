//! Files that do not open, and locks that nobody lets go.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::Tool;
use crate::Limits;
use crate::Mechanism::{B12, H3, R1, R2};
use crate::limit::LONGEST_TOOL;
use rehang_words::BlockedOn;

pub(super) const FIFO_OPEN: Facts = Facts {
    word: "fifo-open",
    called: "hung",
    means: "it opens a named pipe, and nobody opens the other end",
    mechanisms: &[B12],
    judged: &[BlockedOn::Child, BlockedOn::File],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Tool, "the agent waits for the other end of a named pipe", LONGEST_TOOL),
    below: Limits::likely(Tool, "a tool's command waits for the other end of a named pipe", LONGEST_TOOL),
    draft: no_draft,
};

pub(super) const FILE_LOCK: Facts = Facts {
    word: "file-lock",
    called: "hung",
    means: "it waits for a file lock, and the holder makes no progress or is not in sight",
    mechanisms: &[R2, H3],
    judged: &[BlockedOn::Child, BlockedOn::File],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(
        Tool,
        "the agent waits for the lock on a file, and its holder does not let it go",
        LONGEST_TOOL,
    ),
    below: Limits::likely(
        Tool,
        "a tool's command waits for the lock on a file, and its holder does not let it go",
        LONGEST_TOOL,
    ),
    draft: no_draft,
};

pub(super) const SQLITE_LOCK: Facts = Facts {
    word: "sqlite-lock",
    called: "hung",
    means: "it sleeps and retries while another process holds the lock on the SQLite database that it has open",
    mechanisms: &[R1],
    judged: &[BlockedOn::File],
    owed: Owed::Peer,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Tool, "the agent waits for a database that somebody else has locked", LONGEST_TOOL),
    below: Limits::likely(Tool, "a tool's command waits for a database that somebody else has locked", LONGEST_TOOL),
    draft: no_draft,
};
