//! Secrets and personal data, masked before anything is written.
//!
//! Invariant: a text is masked before it is cut, so that no half of a secret is left over; masking twice changes nothing.
//! What is masked looks like what it was (`you@example.com`, `192.0.2.1`), or says its kind (`[masked: api key]`).

use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Masks texts and counts what it masked.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// How often, by kind.
    pub found: BTreeMap<&'static str, u64>,
}

struct Rule {
    kind: &'static str,
    regex: Regex,
    with: &'static str,
}

/// Rules in order: what one has masked, the next does not see.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| rules().into_iter().flatten().collect());

/// All rules; none in the place of one whose pattern is no pattern, which the tests find.
fn rules() -> Vec<Option<Rule>> {
    let rule = |kind, pattern: &str, with| Regex::new(pattern).ok().map(|regex| Rule { kind, regex, with });
    vec![
        rule(
            "private key",
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)",
            "[masked: private key]",
        ),
        rule(
            "certificate",
            r"-----BEGIN (?:CERTIFICATE|PGP MESSAGE|PGP PUBLIC KEY BLOCK)-----(?s:.*?)(?:-----END [A-Z ]+-----|$)",
            "[masked: certificate]",
        ),
        rule(
            "json web token",
            r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
            "[masked: json web token]",
        ),
        rule(
            "api key",
            r"\bsk-[A-Za-z0-9_-]{12,}|\bsk_(?:live|test)_[A-Za-z0-9]{8,}|\b[rp]k_(?:live|test)_[A-Za-z0-9]{8,}|\bwhsec_[A-Za-z0-9]{8,}",
            "[masked: api key]",
        ),
        rule(
            "api key",
            r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{10,}|\bGOCSPX-[A-Za-z0-9_-]{10,}|\bgsk_[A-Za-z0-9]{20,}|\bxai-[A-Za-z0-9]{20,}|\bhf_[A-Za-z0-9]{16,}|\bpplx-[A-Za-z0-9]{16,}|\br8_[A-Za-z0-9]{16,}",
            "[masked: api key]",
        ),
        rule(
            "api key",
            r"\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|\bkey-[0-9a-f]{32}\b|\bSK[0-9a-f]{32}\b|\bAC[0-9a-f]{32}\b|\bdop_v1_[0-9a-f]{20,}|\bsntrys_[A-Za-z0-9_=+/-]{20,}|\bNRAK-[A-Z0-9]{20,}|\blin_api_[A-Za-z0-9]{20,}|\bsq0[a-z]{3}-[A-Za-z0-9_-]{20,}|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}",
            "[masked: api key]",
        ),
        rule("github token", r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}", "[masked: github token]"),
        rule("gitlab token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{16,}", "[masked: gitlab token]"),
        rule(
            "package registry token",
            r"\bnpm_[A-Za-z0-9]{20,}|\bpypi-[A-Za-z0-9_-]{16,}|\bdckr_pat_[A-Za-z0-9_-]{16,}|\brubygems_[0-9a-f]{20,}|\bcio[A-Za-z0-9]{32}\b",
            "[masked: package registry token]",
        ),
        rule("aws key", r"\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}\b", "[masked: aws key]"),
        rule(
            "slack token",
            r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}|https://hooks\.slack\.com/[A-Za-z0-9/_-]+",
            "[masked: slack token]",
        ),
        rule("webhook", r"https://(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/[A-Za-z0-9/_-]+", "[masked: webhook]"),
        rule(
            "bot token",
            r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}|\b[MNO][A-Za-z0-9_-]{22,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}",
            "[masked: bot token]",
        ),
        rule(
            "password in a url",
            r"(?P<a>\b[A-Za-z][A-Za-z0-9+.-]{1,20}://)[^\s/:@]*:[^\s@/]+@",
            "${a}[masked: password]@",
        ),
        rule(
            "token in a url",
            r"(?i)(?P<a>[?&](?:access_token|token|key|api_key|apikey|sig|signature|secret|password|passwd|auth|code|X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token)=)[^&\s#']{4,}",
            "${a}[masked: token]",
        ),
        rule(
            "authorization header",
            r#"(?i)(?P<a>\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest|negotiate)\s+)?)[^\s"',\[][^\s"',]{3,}"#,
            "${a}[masked: token]",
        ),
        rule("bearer token", r"(?i)(?P<a>\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}", "${a}[masked: token]"),
        rule("cookie", r"(?i)(?P<a>\b(?:set-)?cookie:\s*)[^\r\n\[][^\r\n]{3,}", "${a}[masked: cookie]"),
        rule(
            "secret by its name",
            r#"(?i)(?P<a>[A-Za-z0-9_.-]{0,40}(?:passw(?:or)?d|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|credentials?|_pwd|_auth|auth[_-]?key|account[_-]?key|session[_-]?key|encryption[_-]?key)["']?\s{0,2}(?:=>|[:=])\s{0,2}["']?)[^\s"',;&<>\[(){}][^\s"',;&<>(){}]{5,}"#,
            "${a}[masked: secret]",
        ),
        rule(
            "secret by its option",
            r#"(?i)(?P<a>\s--?(?:password|passwd|pass|token|secret|api-key|apikey|auth|auth-token|access-token)[ =]["']?)[^\s"'\[-][^\s"']{3,}"#,
            "${a}[masked: secret]",
        ),
        rule("user and password", r"(?P<a>\s(?:-u|--user)[ =]?)[^\s:\[]+:[^\s]+", "${a}[masked: password]"),
        rule(
            "mail address",
            r"(?i)\b[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}\b",
            "you@example.com",
        ),
        rule("home folder", r"(?P<a>/(?:home|Users)/)[^/\s:'\x22)\],<>…]+", "${a}user"),
        rule("home folder", r"(?i)(?P<a>\b[A-Z]:\\{1,2}Users\\{1,2})[^\\\s:'\x22]+", "${a}user"),
        rule("home folder", r"/root\b", "/home/user"),
        rule("home folder", r"(?P<a>-(?:home|Users)-)[A-Za-z0-9_]+(?P<b>-)", "${a}user${b}"),
        rule(
            "ip address",
            r"\b(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\b",
            "192.0.2.1",
        ),
        rule(
            "ip address",
            r"(?i)(?:\b[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\b(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}\b|\bfe80::[0-9a-f:]+",
            "2001:db8::1",
        ),
        rule("mac address", r"(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b", "[masked: mac address]"),
        rule("payment card", r"\b(?:[0-9]{4}[ -]){3}[0-9]{4}\b", "[masked: payment card]"),
        rule(
            "phone number",
            r"\+[0-9]{1,3}[ .-]?\(?[0-9]{2,4}\)?(?:[ .-]?[0-9]{2,4}){2,4}\b",
            "[masked: phone number]",
        ),
        rule("random text", r"\b[A-Za-z0-9+/_-]{40,}={0,2}", ""),
    ]
}

/// What stands for an own machine or nobody: these are no personal data.
fn harmless(kind: &str, text: &str) -> bool {
    match kind {
        "ip address" => {
            matches!(text, "127.0.0.1" | "0.0.0.0" | "255.255.255.255" | "192.0.2.1" | "::1" | "2001:db8::1")
        }
        "authorization header" => {
            let words = ["bearer", "basic", "token", "digest", "negotiate"];
            words.iter().any(|word| text.to_ascii_lowercase().ends_with(word))
        }
        "mail address" => {
            text == "you@example.com" || text.ends_with("@users.noreply.github.com") && text.starts_with("noreply")
        }
        "home folder" => {
            ["/home/user", "/Users/user", "/home/agent", "-home-user-", "-Users-user-"].contains(&text)
                || text.ends_with("\\user")
        }
        _ => false,
    }
}

/// How often the rules are gone through at most.
const ROUNDS: usize = 8;

impl Mask {
    /// The text, masked.
    pub fn text(&mut self, text: &str) -> String {
        let mut out: String = text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !unseen(*c)).collect();
        // what one rule has left may be what another looks for
        for _ in 0..ROUNDS {
            if !self.round(&mut out) {
                break;
            }
        }
        out
    }

    fn round(&mut self, out: &mut String) -> bool {
        let mut changed = false;
        for rule in RULES.iter() {
            if !rule.regex.is_match(out) {
                continue;
            }
            let mut count = 0;
            let replaced = rule.regex.replace_all(out, |found: &Captures<'_>| {
                let whole = &found[0];
                if harmless(rule.kind, whole)
                    || whole.contains("[masked: ")
                    || rule.kind == "random text" && !random(whole)
                {
                    return whole.to_owned();
                }
                count += 1;
                if rule.with.is_empty() {
                    return "[masked: random text]".to_owned();
                }
                let mut with = String::new();
                found.expand(rule.with, &mut with);
                with
            });
            let replaced = replaced.into_owned();
            if count > 0 {
                *self.found.entry(rule.kind).or_default() += count;
                changed |= *out != replaced;
                *out = replaced;
            }
        }
        changed
    }

    /// The text, masked, then cut to so many characters.
    pub fn shown(&mut self, text: &str, chars: usize) -> String {
        let masked = self.text(text);
        match masked.char_indices().nth(chars) {
            // a cut may lay bare what was no secret before
            Some((at, _)) => format!("{}…", self.text(&masked[..at])),
            None => masked,
        }
    }

    /// How much was masked.
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }
}

/// What a scenario file may not hold and nobody sees: control characters but the line's end, marks that hide or turn text.
fn unseen(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Long texts of mixed letters and digits, as keys are; hashes, paths and words are left alone.
fn random(text: &str) -> bool {
    let count = |of: fn(&u8) -> bool| text.as_bytes().iter().filter(|b| of(b)).count();
    let (upper, lower, digits) =
        (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
    let marks = count(|b| matches!(b, b'/' | b'-' | b'_'));
    let runs = text.split(['/', '-', '_']).map(str::len).max().unwrap_or(0);
    upper >= 4 && lower >= 4 && digits >= 4 && (marks <= 4 || runs >= 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let mut mask = Mask::default();
        let once = mask.text(text);
        assert_eq!(Mask::default().text(&once), once, "masking twice changes something");
        once
    }

    #[test]
    fn every_rule_has_a_pattern() {
        assert!(rules().iter().all(Option::is_some));
    }

    #[test]
    fn what_is_harmless_stays() {
        for text in [
            "cargo test --workspace",
            "listening on http://127.0.0.1:4096",
            "see src/main.rs:12:5 at 2026-11-20T12:20:26",
            "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef is a commit",
            "/home/agent/project and /home/user/x",
            "a text that was cut behind /home/agent…",
            "tokens: 12, max_tokens=4096",
            "harness/scenario/src/model/generated/very/long/path/name.rs",
            "the password is wrong",
            "Approve row diff?",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn secrets_go_and_what_is_around_them_stays() {
        assert_eq!(
            masked("curl -H 'Authorization: Bearer abcdefgh12345' http://x"),
            "curl -H 'Authorization: Bearer [masked: token]' http://x"
        );
        assert_eq!(
            masked("git clone https://me:hunter2@host/x.git"),
            "git clone https://[masked: password]@host/x.git"
        );
        assert_eq!(masked("export DB_PASSWORD=correct-horse"), "export DB_PASSWORD=[masked: secret]");
        assert_eq!(masked("mail jane.doe@corp.co.uk"), "mail you@example.com");
        assert_eq!(masked("cat /Users/jane/.ssh/id"), "cat /Users/user/.ssh/id");
        assert_eq!(masked("-----BEGIN RSA PRIVATE KEY-----\nMIIE"), "[masked: private key]");
    }
}
