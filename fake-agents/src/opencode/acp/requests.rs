//! What the editor asks of the agent, and how it answers what the agent asks.
//!
//! Invariant: a request is answered once; `session/prompt` when its turn is over, all others at once.

use super::super::asks::{By, Permit};
use super::super::release::Dialect;
use super::{Acp, Prompt, Shown, shapes};
use rehang_os::os::Os;
use rehang_trace::Cause;
use serde_json::{Value, json};

impl Acp {
    /// Carries out a request; `None` if it is answered later.
    pub(super) fn request(
        &mut self,
        os: &mut dyn Os,
        method: &str,
        params: &Value,
        id: &Value,
    ) -> Option<Result<Value, Value>> {
        let release = self.host.engine.release.clone();
        let newest = release.dialect == Dialect::V1_18;
        Some(match method {
            "initialize" => Ok(shapes::initialized(&release)),
            "authenticate" => shapes::authenticated(&release),
            "session/new" => {
                let wanted = [
                    ("cwd", "string", params["cwd"].is_string()),
                    ("mcpServers", "array", params["mcpServers"].is_array()),
                ];
                let missing: Vec<_> =
                    wanted.iter().filter(|(.., is_there)| !is_there).map(|(key, kind, _)| (*key, *kind)).collect();
                if !missing.is_empty() {
                    return Some(Err(shapes::lacks(&release, &missing)));
                }
                let session = self.host.engine.create_session_in(os.now(), "New session", &[], params["cwd"].as_str());
                self.shown.push(Shown { session, mode: "build".to_owned() });
                let name = self.host.engine.sessions()[session].id.clone();
                // the commands follow the answer
                self.answer(id, Ok(shapes::session(&release, Some(&name), "build")));
                self.notify(session, shapes::commands(&release));
                return None;
            }
            "session/load" => {
                let Some(session) = self.named(params) else { return Some(Err(shapes::not_loaded(&release))) };
                // 1.0.185 listens once more for it, and then tells everything twice
                if release.dialect > Dialect::V1_0 {
                    self.shown.retain(|shown| shown.session != session);
                }
                self.shown.push(Shown { session, mode: "build".to_owned() });
                let name = self.host.engine.sessions()[session].id.clone();
                let answer = shapes::session(&release, Some(name.as_str()).filter(|_| !newest), "build");
                if !newest {
                    self.notify(session, shapes::commands(&release));
                    return Some(Ok(answer));
                }
                self.answer(id, Ok(answer));
                self.notify(session, shapes::commands(&release));
                return None;
            }
            "session/prompt" => {
                let Some(session) = self.named(params) else {
                    return Some(Err(shapes::no_session(&release, params["sessionId"].as_str().unwrap_or_default())));
                };
                let parts = params["prompt"].as_array().into_iter().flatten();
                let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                // prompts that come at once have one turn
                let beside = self.prompts.iter().find(|prompt| prompt.is_new && prompt.session == session);
                let (beside, id) = (beside.map(|prompt| prompt.ticket), id.clone());
                self.tickets += u32::from(beside.is_none());
                let ticket = beside.unwrap_or(self.tickets);
                self.prompts.push(Prompt { ticket, id, session, cancelled: false, is_new: true });
                if beside.is_none() {
                    self.host.engine.prompt(os.now(), session, &texts.join("\n"), None, Some(ticket));
                }
                return None;
            }
            "session/set_mode" | "session/set_model" => {
                let Some(session) = self.named(params) else {
                    return Some(Err(shapes::no_session(&release, params["sessionId"].as_str().unwrap_or_default())));
                };
                let shown = self.shown.iter_mut().find(|shown| shown.session == session)?;
                if method == "session/set_mode" {
                    shown.mode = params["modeId"].as_str().unwrap_or("build").to_owned();
                    return Some(Ok(json!({})));
                }
                if !newest {
                    return Some(Ok(json!({"_meta": shapes::meta(&release)})));
                }
                let options = shapes::options_of(&shown.mode);
                self.notify(session, json!({"sessionUpdate": "config_option_update", "configOptions": options}));
                Ok(json!({}))
            }
            _ => Err(shapes::no_method(method)),
        })
    }

    /// The session that a request names, if the editor has made or loaded it.
    fn named(&self, params: &Value) -> Option<usize> {
        let session = self.host.engine.find(params["sessionId"].as_str()?)?;
        self.shown.iter().any(|shown| shown.session == session).then_some(session)
    }

    /// `session/cancel`: the turn is aborted. What becomes of a permission that is asked for is the release's, and so is a
    /// prompt whose turn has not begun: in the newest release it fails, older ones go on with it.
    pub(super) fn cancel(&mut self, os: &mut dyn Os, params: &Value) {
        let Some(session) = self.named(params) else { return };
        let is_new = |prompt: &mut Prompt| prompt.is_new && prompt.session == session;
        if self.dialect() == Dialect::V1_18 {
            let failed: Vec<Prompt> = self.prompts.extract_if(.., is_new).collect();
            failed.iter().for_each(|prompt| self.answer(&prompt.id, Err(shapes::no_turn())));
        } else if self.prompts.iter_mut().any(is_new) {
            return;
        }
        self.prompts.iter_mut().filter(|prompt| prompt.session == session).for_each(|prompt| prompt.cancelled = true);
        self.host.engine.abort(os.now(), session, None, false);
    }

    /// The editor has answered a request. A cancelled ask and an error are a rejection; an option that was not offered is
    /// one in the newest release alone, older ones wait on; so does each release after a result without an outcome.
    pub(super) fn decided(&mut self, id: &Value, message: &Value) {
        let Some(ask) = id.as_u64().and_then(|id| self.asks.answered(id)) else { return };
        let outcome = &message["result"]["outcome"];
        if message.get("result").is_some() && !outcome.is_object() {
            return;
        }
        let newest = self.host.engine.release.dialect == Dialect::V1_18;
        let chosen = match outcome["outcome"].as_str() {
            Some("selected") => outcome["optionId"].as_str().and_then(Permit::parse),
            _ => Some(Permit::Reject),
        };
        let Some(permit) = chosen.or(newest.then_some(Permit::Reject)) else { return };
        let by = if permit == Permit::Reject { By::user_with(Cause::Dismiss) } else { By::user() };
        let _ = self.host.engine.reply_permission(&ask, permit, &by);
    }
}
