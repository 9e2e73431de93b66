//! Secrets and personal data, masked before anything is written.
//!
//! Invariant: a text is masked before it is cut, so that no part of a secret is left; masking twice changes nothing.
//! What is masked looks like what it was (`you@example.com`, `192.0.2.1`), or says its kind (`[masked: api key]`).

mod lines;
mod rules;

pub use self::lines::{Lines, Part};

use self::rules::{RULES, harmless};
use regex::Captures;
use rehang_scenario::problem::hidden;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Masks texts and counts what it masked.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// How often, by kind.
    pub found: BTreeMap<&'static str, u64>,
}

/// How often the rules are applied at most.
const ROUNDS: usize = 8;

impl Mask {
    /// The text, masked.
    pub fn text(&mut self, text: &str) -> String {
        let mut out = seen(text);
        // what one rule leaves may match another
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
            // most texts hold nothing of most kinds, and to see that takes no captures
            if !rule.regex.is_match(out) {
                continue;
            }
            let mut count = 0;
            let replaced = rule.regex.replace_all(out, |found: &Captures<'_>| {
                let Some(whole) = found.get(0) else { return String::new() };
                let secret = found.iter().skip(1).flatten().next().unwrap_or(whole);
                if harmless(rule.kind, whole.as_str(), secret.as_str()) {
                    return whole.as_str().to_owned();
                }
                count += 1;
                let (before, behind) = (secret.start() - whole.start(), secret.end() - whole.start());
                [&whole.as_str()[..before], rule.with, &whole.as_str()[behind..]].concat()
            });
            let replaced = match replaced {
                Cow::Borrowed(_) => continue,
                Cow::Owned(replaced) => replaced,
            };
            if count > 0 {
                *self.found.entry(rule.kind).or_default() += count;
                changed |= *out != replaced;
                *out = replaced;
            }
        }
        changed
    }

    /// Masks, line by line, what began on a line before: `line` is the next one, without its end. `None` if nothing of
    /// it may be shown, since all of it belongs to a private key.
    pub fn line(&mut self, lines: &mut Lines, line: &str) -> Option<String> {
        let (kind, shown) = match lines.take(line) {
            Part::None => return Some(line.to_owned()),
            Part::Value => ("secret by its name", Some("  [masked: secret]".to_owned())),
            Part::Key(bytes) => {
                let rest = line[bytes..].trim();
                ("private key", (!rest.is_empty()).then(|| format!("[masked: private key] {rest}")))
            }
        };
        *self.found.entry(kind).or_default() += 1;
        shown
    }

    /// The lines, masked, each with its end: also what spans several of them.
    pub fn lines(&mut self, text: &str) -> String {
        let mut state = Lines::default();
        let shown = text.split_inclusive('\n').filter_map(|line| {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            self.line(&mut state, line).map(|line| self.text(&line) + end)
        });
        shown.collect()
    }

    /// The text, masked, then cut to `chars` characters.
    pub fn shown(&mut self, text: &str, chars: usize) -> String {
        let masked = self.text(text);
        match masked.char_indices().nth(chars) {
            // after the cut, something may look like a secret that did not before
            Some((at, _)) => self.text(&format!("{}…", &masked[..at])),
            None => masked,
        }
    }

    /// How much was masked.
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }
}

/// What a person sees of a text: without escape sequences, and without what a backspace has deleted.
fn seen(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\u{1b}' | '\u{9b}' => rest = &rest[sequence(c, rest)..],
            '\t' => out.push(' '),
            '\u{8}' if !out.ends_with('\n') => drop(out.pop()),
            c if hidden(c) && c != '\n' => {}
            c => out.push(c),
        }
    }
    out
}

/// The longest escape sequence that is recognised, in bytes; and the longest of those that hold a text (a title, a
/// link).
const SEQUENCE_BYTES: (usize, usize) = (64, 4 << 10);

/// The bytes of an escape sequence after its first character; 0 if none follows.
fn sequence(first: char, rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (kind, from) = if first == '\u{9b}' { (Some(b'['), 0) } else { (bytes.first().copied(), 1) };
    match kind {
        Some(b'[') => {
            let end = bytes.iter().take(SEQUENCE_BYTES.0).skip(from).position(|b| !(0x20..0x40).contains(b));
            end.map_or(from, |at| from + at + usize::from((0x40..0x7f).contains(&bytes[from + at])))
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let end = bytes.iter().take(SEQUENCE_BYTES.1).position(|b| matches!(b, 0x07 | 0x1b | b'\n'));
            match end.map(|at| (at, bytes[at], bytes.get(at + 1))) {
                Some((at, 0x07, _)) => at + 1,
                Some((at, 0x1b, Some(b'\\'))) => at + 2,
                _ => 1,
            }
        }
        Some(0x20..0x30) => {
            let end = bytes.iter().take(4).position(|b| !(0x20..0x30).contains(b));
            end.map_or(0, |at| at + usize::from((0x30..0x7f).contains(&bytes[at])))
        }
        Some(0x30..0x7f) => 1,
        _ => 0,
    }
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
        assert!(rules::rules().iter().all(Option::is_some));
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
            "PWD=/srv/app OLDPWD=/srv pwd",
            "pwd: command not found",
            "PASS: tests/first.sh, PASS src/a.test.ts, pass=12",
            "docker run -p 8080:80 -u 1000:1000 x && mkdir -p build/out && cp -p a b",
            "mysql -u root -p production",
            "docker build -t x . && ssh -p 2222 host",
            "npm i --registry http://localhost:4873/@scope/pkg",
            "git clone ssh://host/org/repo.git@v1 && git checkout -b topic",
            "date -u +%H:%M:%S",
            "export TOKEN=$(gh auth token) KEY=$API_TOKEN",
            "token: string; password: required, secret: undefined",
            "curl -b cookies.txt http://x",
            "SyntaxError: Unexpected token 'export'",
            "pin the version: pin 12345 to x, pin=latest, GPIO pin: 4",
            "tool --token --password-stdin --secret -x",
            "the id 4242424242424243 at 1795177600000000, seq 3000000000000001",
            "PL61109010140000071219812875 and GB82WEST is no account",
            "tail -k 3, psk: none, auth: required, \"auth\": \"required\"",
            "password required\n  password changed",
            "https://x/?a=(200) 404",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn secrets_go_in_whatever_form_they_stand() {
        let secret = "Gr4yH3ron7";
        let mut leaks = Vec::new();
        for form in [
            // in quotes, and in quotes within quotes
            r#"curl -d "{\"password\":\"¤\"}" http://x"#,
            r#"node -e "f('{\\\"api_key\\\": \\\"a, ¤\\\"}')""#,
            r#"export DB_PASSWORD="correct horse ¤""#,
            "DB_PASSWORD='ab,¤' ./run",
            "DB_PASSWORD='ab;cd&(<[¤' ./run",
            "DB_PASSWORD='no end ¤",
            r#"{"access_token":"¤","refresh_token":"a¤"}"#,
            "{'password': 'it is ¤'}",
            "connect(password='¤', user='me')",
            "//registry.npmjs.org/:_password=\"¤\"",
            "//registry.npmjs.org/:_authToken=¤",
            // without
            "DB_PASSWORD=ab$(¤",
            "password: a&¤",
            "password=[¤]",
            "TOKEN=sk-abcdefghijklmnop/¤",
            "SMTP_PASS=¤",
            "PGPASS=¤",
            "pass=¤",
            "pwd = ¤",
            "PWD=¤",
            r#"{"pwd": "¤", "pass": "¤"}"#,
            "Server=x;Pwd=¤;",
            "Server=x;Password=¤;Timeout=3",
            "password : ¤",
            "password   =   ¤",
            "password:      ¤",
            "password:\t\t\t¤",
            "password:\u{a0}¤",
            "password\u{ff1d}¤",
            "pa\u{200b}ssword=¤",
            "password:\n  ¤",
            "password: |\n  ¤\n",
            "password: | ¤",
            "passcode: ¤",
            "secret_key_base: ¤",
            "<password>¤</password>",
            "<db:password type=\"x\">¤</db:password>",
            r#"<input name="password" value="¤">"#,
            r#"{"name": "DB_PASSWORD", "value": "¤"}"#,
            "- name: DB_PASSWORD\n  value: ¤",
            "machine h login u password ¤",
            "the token \"¤\" is no longer valid",
            "password is '¤'",
            "password_b64 = ¤",
            "DB_PASSWORD_BASE64=¤",
            // in headers
            "X-Auth-Token: ¤",
            "X-Api-Key: ¤",
            "Authorization: Basic ¤",
            "Authorization: ApiKey ¤",
            "Authorization: Unheard-Of ¤",
            "Authorization: AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=¤",
            "Authorization: Digest username=\"me\", response=\"¤\"",
            r#"{"headers": {"authorization": "¤", "cookie": "session=¤; b=¤"}}"#,
            r#"{\"cookie\": \"session=¤\"}"#,
            "curl -H 'Cookie: sid=¤' http://x",
            "curl -b 'session=¤' http://x",
            "curl --cookie session=¤ http://x",
            // in options
            "curl -u me:¤ http://x",
            "curl -u \"me:a ¤\" http://x",
            "curl --user=me:¤ http://x",
            "curl -x http://px -U px:¤ http://x",
            "curl --proxy-user px:¤ http://x",
            "openssl enc -aes-256-cbc -k ¤ -in a",
            "openssl rsa -in a -passin pass:¤",
            "mysql -pa1b2c3 a; mysql -p¤ b",
            "? [mysql -p¤ a, mysql -px1y2z3 b]",
            "vault token lookup hvs.CAESI¤",
            "psk=\"¤\"",
            r#"{"auths":{"https://x/":{"auth":"a1B2¤"}}}"#,
            "maria:$apr1$k9sQ2x7r$¤/Zm1u",
            "maria:$2y$10$¤abcdefgh",
            r#""private_key_id": "0c4f1a9d¤""#,
            r"- name: DB_PASSWORD\n    value: ¤",
            "mysql -uroot -p¤ db",
            "mysqldump -h db -p'a ¤' x",
            "sshpass -p ¤ ssh -p 22 host",
            "sshpass -p'¤' ssh host",
            "docker login -u me -p ¤ registry.example",
            "redis-cli -h x -a ¤ ping",
            "x --password \"a ¤\"",
            "x --password -¤",
            "x --token=a¤",
            "x --db-password ¤",
            "x --secret-key ¤",
            r#"["x", "--password", "¤"]"#,
            "aws configure set aws_secret_access_key ¤",
            "npm config set //registry.npmjs.org/:_authToken ¤",
            "kubectl create secret generic s --from-literal=password=¤ --from-literal=k=¤",
            // in addresses
            "https://u:p@¤@host/x",
            "postgres://u:pa/¤@host/db",
            "http://localhost:80/?next=https://u:¤@host",
            "https://ghq¤@github.com/x.git",
            // keys
            "AGE-SECRET-KEY-1¤¤¤",
            "PuTTY-User-Key-File-3: x\nPrivate-Lines: 1\n¤\nPrivate-MAC: 0",
            r"-----BEGIN RSA PRIVATE KEY-----\n¤\n-----END RSA PRIVATE KEY-----",
            // as a terminal colours them
            "OPENAI_API_KEY=\u{1b}[01;31m\u{1b}[Ksk-\u{1b}[m\u{1b}[Kproj-¤",
            "sk-\u{1b}]8;;http://x\u{1b}\\ant-\u{1b}(Bapi03-\u{9b}1m¤\u{1b}[0m",
            "sk-ant-x\u{8}api03-¤",
        ] {
            let text = form.replace('¤', secret);
            for text in [text.clone(), format!("run: {text} # end")] {
                let masked = masked(&text);
                if masked.contains("r4yH3ron") || !masked.contains("[masked: ") {
                    leaks.push(format!("{text:?}: {masked:?}"));
                }
            }
        }
        assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    }

    #[test]
    fn an_escape_sequence_goes_as_a_whole() {
        for (text, shows) in [
            ("\u{1b}[1;32mok\u{1b}[0m", "ok"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c", "abc"),
            ("\u{1b}(Ba\u{1b}=b\u{1b}Mc\u{9b}2Kd", "abcd"),
            ("\u{1b}]no end", "no end"),
            ("\u{1b}]a line\nanother", "a line\nanother"),
            ("a\u{1b}[12\u{1b}[mb", "ab"),
            ("\u{1b}[é\u{1b}é\u{1b}", "éé"),
            ("pasx\u{8}s", "pass"),
            ("\n\u{8}x", "\nx"),
        ] {
            assert_eq!(masked(text), shows, "{text:?}");
        }
        let endless = format!("\u{1b}[{}", "1".repeat(200));
        assert_eq!(masked(&endless), "1".repeat(200));
    }

    #[test]
    fn a_key_shows_no_line_of_itself_where_each_is_a_line_of_a_log() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nFULL\nFULL\nGr4yH3ron7==\n-----END RSA PRIVATE KEY-----\n";
        let key = key.replace("FULL", &"Gr4yH3ronAbcd/ef".repeat(4));
        let cut = key.split_once("-----END").unwrap().0;
        let long = cut.replace(
            "\nGr4yH3ron7",
            &format!("{}\nGr4yH3ron7", "\nAAAA/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".repeat(300)),
        );
        for (log, shows) in
            [(format!("one\n{key}two\n"), true), (format!("one\n{cut}"), false), (format!("one\n{long}"), false)]
        {
            let plain: String = log.lines().enumerate().map(|(i, line)| format!("{i}.000\t{line}\n")).collect();
            let events = log.split_inclusive('H').enumerate();
            let events = events.map(|(i, text)| serde_json::json!([i, "o", text]).to_string()).collect::<Vec<_>>();
            let cast = format!("{{\"version\":2,\"width\":80,\"height\":24}}\n{}\n", events.join("\n"));
            for log in [plain, cast] {
                let imported = crate::import(
                    log.as_bytes(),
                    &crate::Options {
                        turns: Some(500),
                        said: crate::Said { hung: Some(true), ..Default::default() },
                        ..Default::default()
                    },
                    &mut |_| {},
                );
                let toml = imported.unwrap().toml();
                assert!(!toml.contains("r4yH3ron"), "{toml}");
                assert_eq!(toml.contains("\"two\""), shows, "{toml}");
            }
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
        assert_eq!(masked("pin: 482913, otp_code=\"482913\""), "pin: [masked: secret], otp_code=\"[masked: secret]\"");
        assert_eq!(masked("mail jane.doe@corp.co.uk"), "mail you@example.com");
        assert_eq!(masked("cat /Users/jane/.ssh/id"), "cat /Users/user/.ssh/id");
        for (home, shown) in [
            (r"C:\Users\jane\x", r"C:\Users\user\x"),
            (r#""C:\\Users\\Jane Doe\\x""#, r#""C:\\Users\\user\\x""#),
            (r"C:\\\\Users\\\\jane\\\\x", r"C:\\\\Users\\\\user\\\\x"),
            ("C:/Users/jane", "C:/Users/user"),
            (r"\\wsl$\Ubuntu\home\jane\x", r"\\wsl$\Ubuntu\home\user\x"),
        ] {
            assert_eq!(masked(home), shown);
        }
        assert_eq!(masked("  login me\n  password a1b2c3"), "  login me\n  password [masked: secret]");
        assert_eq!(masked("card=4242424242424242"), "card=[masked: payment card]");
        assert_eq!(masked("to GB82 WEST 1234 5698 7654 32 now"), "to [masked: bank account] now");
        assert_eq!(masked("call (415) 555-2671"), "call [masked: phone number]");
        assert_eq!(masked("scp x jane@198.18.7.6:/srv"), "scp x user@192.0.2.1:/srv");
        assert_eq!(masked("-----BEGIN RSA PRIVATE KEY-----\nMIIE"), "[masked: private key]");
    }
}
