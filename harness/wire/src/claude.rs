//! Claude Code's stream-json and control protocol.
