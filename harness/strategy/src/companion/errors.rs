//! The texts of a failed prompt, and PR 5's `classifyError`, which adds a hint.
//!
//! Invariant: a hint is added, and never replaces the error. What it misses is kept: a prompt timeout says nothing of
//! an abort, so it stays a bare `prompt timeout` (defect g).

use rehang_words::Span;
use serde_json::Value;

/// The error of a prompt that was refused with a status: `OpenCode prompt failed 400: bad model`.
pub(super) fn status_error(status: u16, body: &Value) -> String {
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    format!("OpenCode prompt failed {status}: {text}")
}

/// The error of a connection that ended, in the words of Node's fetch.
pub(super) fn fetch_error(why: &str) -> String {
    match why {
        "refused" => "fetch failed: ECONNREFUSED".to_owned(),
        "reset" => "fetch failed: ECONNRESET".to_owned(),
        "closed" => "fetch failed: other side closed".to_owned(),
        why => format!("fetch failed: {why}"),
    }
}

/// Adds a hint (PR 5): abort, refused connection, 401/403, 5xx, and a connection that ended after about
/// five minutes (290–320 s), where servers and clients have their limits.
pub(super) fn classify(error: String, after: Span) -> String {
    let lower = error.to_lowercase();
    let status = lower.strip_prefix("opencode prompt failed ").and_then(|rest| rest.get(..3));
    let cut = (290_000..=320_000).contains(&after.as_ms()) && lower.starts_with("fetch failed");
    let hint = if lower.contains("abort") {
        "the prompt was aborted on this side"
    } else if lower.contains("econnrefused") {
        "the server is not running"
    } else if matches!(status, Some("401" | "403")) {
        "check OPENCODE_SERVER_PASSWORD"
    } else if status.is_some_and(|status| status.starts_with('5')) {
        "the server failed: see its log"
    } else if cut {
        "the connection ended after about 5 minutes, while the session may go on"
    } else {
        return error;
    };
    format!("{error} (hint: {hint})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refused_prompt_says_status_and_body() {
        assert_eq!(status_error(400, &json!("bad model")), "OpenCode prompt failed 400: bad model");
        assert_eq!(status_error(400, &json!({"a": 1})), r#"OpenCode prompt failed 400: {"a":1}"#);
    }

    #[test]
    fn the_five_minute_window_has_its_edges() {
        for (ms, hinted) in [(289_999, false), (290_000, true), (320_000, true), (320_001, false)] {
            let text = classify(fetch_error("closed"), Span::ms(ms));
            assert_eq!(text.contains("5 minutes"), hinted, "{ms}");
        }
    }

    /// RAN (2.5 g): it looks for `abort` and misses its own timeout.
    #[test]
    fn a_prompt_timeout_gets_no_hint() {
        assert_eq!(classify("prompt timeout".to_owned(), Span::hours(4)), "prompt timeout");
        assert!(classify("AbortError".to_owned(), Span::secs(1)).contains("hint"));
        assert!(classify(status_error(503, &json!("busy")), Span::ZERO).contains("its log"));
        assert!(classify(status_error(401, &json!("no")), Span::ZERO).contains("PASSWORD"));
        assert!(classify(fetch_error("refused"), Span::ZERO).contains("not running"));
    }
}
