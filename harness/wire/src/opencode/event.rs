//! What an event says: its type, and which ask it ends.
//!
//! Invariant: an event of any shape is read as far as it can be.

use super::body::text;
use serde_json::Value;

/// The types of events that are read here.
#[allow(missing_docs)]
pub mod kind {
    pub const CONNECTED: &str = "server.connected";
    pub const HEARTBEAT: &str = "server.heartbeat";
    pub const SESSION_CREATED: &str = "session.created";
    pub const SESSION_UPDATED: &str = "session.updated";
    pub const SESSION_STATUS: &str = "session.status";
    pub const SESSION_IDLE: &str = "session.idle";
    pub const SESSION_ERROR: &str = "session.error";
    pub const MESSAGE_UPDATED: &str = "message.updated";
    pub const PART_UPDATED: &str = "message.part.updated";
    pub const QUESTION_ASKED: &str = "question.asked";
    pub const QUESTION_REPLIED: &str = "question.replied";
    pub const QUESTION_REJECTED: &str = "question.rejected";
    pub const PERMISSION_ASKED: &str = "permission.asked";
    /// 1.0's name for `permission.asked`.
    pub const PERMISSION_UPDATED: &str = "permission.updated";
    pub const PERMISSION_REPLIED: &str = "permission.replied";
    /// PawWork's ledger.
    pub const BLOCKER_UPSERTED: &str = "session.blocker.upserted";
}

/// The id of the ask that an event of this type and these properties ends: `requestID`, or 1.0's `permissionID`; empty
/// if the event names none. `None` if it ends no ask.
pub fn closed<'a>(kind: &str, properties: &'a Value) -> Option<&'a str> {
    if !matches!(kind, kind::QUESTION_REPLIED | kind::QUESTION_REJECTED | kind::PERMISSION_REPLIED) {
        return None;
    }
    match properties["requestID"].as_str() {
        Some(id) => Some(id),
        None => Some(text(properties, "permissionID")),
    }
}
