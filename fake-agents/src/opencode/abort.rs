//! Stops a session, and handles what it waited for.
//!
//! Invariant: an abort reports the session as idle at once. What happens to a tool that waits for a person depends on
//! the release: see [`Abort`]; upstream never takes an aborted ask off the list (goldens 08 and 09 of both versions).

use super::asks::{Ask, By};
use super::engine::Engine;
use super::release::{ABORT_SETTLE_MS, Abort};
use super::tools::{Kind, ToolRun};
use rehang_scenario::{Span, VTime};
use rehang_trace::Cause;

const ABORTED: &str = "MessageAbortedError";

impl Engine {
    /// Stops a session. With `soft` nothing is stopped if it has an open question (PawWork, `mode=soft`).
    pub fn abort(&mut self, now: VTime, session: usize, ticket: Option<u32>, soft: bool) {
        self.now = now;
        let asks = |engine: &Engine| engine.asks.iter().any(|ask| ask.session == session && ask.is_question());
        if soft && asks(self) {
            if let Some(ticket) = ticket {
                self.respond(ticket, 200, "false".to_owned());
            }
            return;
        }
        self.stop_session(session, ticket);
        self.act();
    }

    fn stop_session(&mut self, session: usize, ticket: Option<u32>) {
        let Some(at) = self.runs.iter().position(|run| run.session == session && run.live) else {
            self.status_event(session, false);
            if let Some(ticket) = ticket {
                self.respond(ticket, 200, "true".to_owned());
            }
            return;
        };
        let id = self.runs[at].id;
        self.end_text(at);
        self.stop_stream(at);
        self.closed(session);
        let run = &mut self.runs[at];
        run.live = false;
        run.retry_at = None;
        run.lags_until = None;
        match self.release.abort {
            Abort::Leaves => {
                self.busy_fact(session, false);
                self.status_event(session, false);
                if let Some(ticket) = ticket {
                    self.respond(ticket, 200, "true".to_owned());
                }
                self.stop_below(id);
                let waits = |tool: &ToolRun| tool.holds(id) && !tool.is_bash();
                if !self.tools.iter().any(waits) {
                    self.settle(id);
                }
            }
            Abort::Settles => {
                self.error_event(session, ABORTED, "Aborted");
                self.busy_fact(session, false);
                self.status_event(session, false);
                self.stop_below(id);
                if let Some(at) = self.run_at(id) {
                    let run = &mut self.runs[at];
                    run.aborters.extend(ticket);
                    run.settle_at = Some(self.now + Span(ABORT_SETTLE_MS));
                }
            }
            Abort::Rejects => {
                if let Some(ticket) = ticket {
                    self.respond(ticket, 200, "true".to_owned());
                }
                self.stop_below(id);
                self.cancel_asks(id);
                self.busy_fact(session, false);
                self.settle(id);
            }
        }
    }

    /// Subagents of a run are stopped with it.
    pub(super) fn stop_below(&mut self, id: u32) {
        let child = |tool: &ToolRun| match tool.kind {
            Kind::Task { child, .. } if tool.run == id => child,
            _ => None,
        };
        let children: Vec<usize> = self.tools.iter().filter_map(child).collect();
        for session in children {
            self.stop_child(session);
        }
    }

    pub(super) fn stop_child(&mut self, session: usize) {
        if self.busy(session) {
            self.stop_session(session, None);
        }
    }

    /// Rejects the asks of an aborted run's tools (PawWork).
    fn cancel_asks(&mut self, id: u32) {
        let of_run = |engine: &Engine, ask: &Ask| engine.tools.iter().any(|t| t.run == id && t.id == ask.tool);
        let asks: Vec<(String, bool)> =
            self.asks.iter().filter(|ask| of_run(self, ask)).map(|ask| (ask.id.clone(), ask.is_question())).collect();
        for (ask, question) in asks {
            let by = By::user_with(Cause::Stop);
            if question {
                let _ = self.reject_question(&ask, Some("cancelled"), &by);
            } else {
                self.asks.retain(|a| a.id != ask);
                self.ended(&ask, rehang_trace::AskEnd::Dropped, &by, Vec::new());
            }
        }
    }

    /// An aborted run ends: its tools are errors, its message too, and requests that wait for it are answered.
    pub(super) fn settle(&mut self, id: u32) {
        let Some(at) = self.run_at(id) else { return };
        let (session, reply) = (self.runs[at].session, self.runs[at].reply);
        self.abort_tools(id);
        let Some(at) = self.run_at(id) else { return };
        let now_ms = self.now_ms();
        if self.release.abort != Abort::Settles {
            self.error_event(session, ABORTED, "Aborted");
        }
        if let Some(said) = self.reply_mut(session, reply) {
            said.error = Some((ABORTED, "Aborted".to_owned()));
            said.completed_ms = Some(now_ms);
        }
        self.message_event(session, reply, false);
        let run = self.runs.remove(at);
        if !self.busy(session) {
            self.status_event(session, false);
        }
        self.over(run);
    }

    /// Aborted runs whose time to settle has come.
    pub(super) fn settle_due(&mut self) {
        while let Some(run) = self.runs.iter_mut().find(|run| run.settle_at.is_some_and(|at| at <= self.now)) {
            run.settle_at = None;
            let id = run.id;
            self.settle(id);
        }
    }
}
