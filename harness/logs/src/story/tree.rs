//! How the sessions of a log hang together, and where a call is.
//!
//! Invariant: a walk up to the root ends, whatever parents a log names.

use super::{Call, Story, What};
use crate::limits;
use crate::note::{Calls, Kind};

impl Story {
    /// The root session that the log is about: one that began or was prompted in it; if any has an open ask, one of
    /// those, else one that is at work; of several the one heard of last.
    pub fn root(&self) -> Option<&str> {
        let roots = self
            .sessions
            .iter()
            .filter(|(_, session)| session.parent.as_ref().is_none_or(|parent| !self.sessions.contains_key(parent)));
        let open = |id: &str| self.asks.iter().any(|ask| ask.end.is_none() && self.root_of(&ask.session) == id);
        // of several sessions of one server, the one that is not done counts; of a file of several sessions, the last one
        let server = self.agent.kind == Kind::Opencode;
        roots
            .max_by_key(|(id, s)| (s.subject, server && open(id), server && s.busy == Some(true), s.heard))
            .map(|(id, _)| id.as_str())
    }

    /// The root of a session's tree.
    pub fn root_of<'a>(&'a self, session: &'a str) -> &'a str {
        let mut at = session;
        for _ in 0..limits::SESSIONS {
            match self.sessions.get(at).and_then(|s| s.parent.as_deref()).filter(|p| self.sessions.contains_key(*p)) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// How many levels a session is below its root.
    pub fn depth(&self, session: &str) -> usize {
        let mut at = session;
        for depth in 0..limits::SESSIONS {
            match self.sessions.get(at).and_then(|s| s.parent.as_deref()).filter(|p| self.sessions.contains_key(*p)) {
                Some(parent) => at = parent,
                None => return depth,
            }
        }
        limits::SESSIONS
    }

    /// The session of a task call.
    pub fn child_of(&self, call: &Call) -> Option<&str> {
        let named = match &call.does {
            Calls::Task { child: Some(child), .. } => self.sessions.get_key_value(child).map(|(id, _)| id.as_str()),
            _ => None,
        };
        let by_call = || self.sessions.iter().find(|(_, s)| s.call.as_deref() == Some(&call.id));
        named.or_else(|| by_call().map(|(id, _)| id.as_str()))
    }

    /// A call, by its id, with its session.
    pub fn find_call(&self, id: &str) -> Option<(&str, &Call)> {
        self.sessions.iter().find_map(|(name, session)| {
            session.steps.iter().rev().find_map(|step| match &step.what {
                What::Called(call) if call.id == id => Some((name.as_str(), call)),
                _ => None,
            })
        })
    }

    pub(super) fn call(&mut self, id: &str) -> Option<(&str, &mut Call)> {
        let name = self.find_call(id)?.0.to_owned();
        let (name, session) = self.sessions.iter_mut().find(|(key, _)| **key == name)?;
        let call = session.steps.iter_mut().rev().find_map(|step| match &mut step.what {
            What::Called(call) if call.id == id => Some(call),
            _ => None,
        })?;
        Some((name, call))
    }

    /// The number of the last note of an agent's session; 0 if there is none.
    pub fn heard(&self) -> u64 {
        self.sessions.values().map(|session| session.heard.1).max().unwrap_or(0)
    }
}
