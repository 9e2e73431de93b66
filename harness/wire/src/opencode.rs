//! opencode's HTTP API and its events.
