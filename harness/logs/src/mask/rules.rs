//! What a secret looks like, and what only looks like one.
//!
//! Invariant: every pattern reads a text in one pass (no pattern looks back); a rule does not change its own output. If
//! groups of a pattern matched, they are the secret, and what is around them stays.

use regex::Regex;
use std::sync::LazyLock;

/// A rule.
pub(super) struct Rule {
    /// What it finds.
    pub kind: &'static str,
    /// Its pattern: the whole match is the secret, or the groups that matched.
    pub regex: Regex,
    /// What replaces the secret.
    pub with: &'static str,
}

/// Rules in order: what one has masked, the next does not see.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| rules().into_iter().flatten().collect());

/// The names of secrets, as they end.
pub(super) const NAMES: &str = r"(?:passw(?:or)?d|passphrase|passcode|secret|token|credentials?|[_-]pwd|[_-]auth|pgpass|(?:api|access|private|auth|account|session|encryption|signing|secret)[_-]?key(?:[_-]base|[_-]id)?)(?:[_-](?:b64|base64|hex|raw|plain(?:text)?))?";

/// What is between a name and its value on a line; a name may be quoted, in a text that is itself quoted.
const IS: &str = r#"\\{0,7}["']?\]?[ \x{a0}]*(?:=>|:=|[:=：＝])[ \x{a0}]*"#;

/// A value in quotes, to the closing one or the line's end: escaped quotes, then plain ones.
const QUOTED: &str = r#"\\{1,7}"((?:[^"\\\n]|\\+[^"\\\n]){4,})|\\{1,7}'((?:[^'\\\n]|\\+[^'\\\n]){4,})|"((?:[^"\\\n]|\\+[^\\\n]){4,})|'([^'\n]{4,})|`([^`\n]{4,})"#;

/// A value without quotes; it may contain something that is masked already.
const BARE: &str = r#"(?:\[masked: [a-z ]+\]|[^ \n\\"'`,;<>{})]|\\+[^ \n\\"'`,;<>{})])"#;

/// All rules; `None` in the place of a rule whose pattern is not valid, which the tests find.
pub(super) fn rules() -> Vec<Option<Rule>> {
    let rule = |kind, pattern: &str, with| {
        let pattern =
            pattern.replace("%NAMES%", NAMES).replace("%IS%", IS).replace("%QUOTED%", QUOTED).replace("%BARE%", BARE);
        Regex::new(&pattern).ok().map(|regex| Rule { kind, regex, with })
    };
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
            r"\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|\bkey-[0-9a-f]{32}\b|\bSK[0-9a-f]{32}\b|\bAC[0-9a-f]{32}\b|\bdop_v1_[0-9a-f]{20,}|\bsntrys_[A-Za-z0-9_=+/-]{20,}|\bNRAK-[A-Z0-9]{20,}|\blin_api_[A-Za-z0-9]{20,}|\bhv[sbr]\.[A-Za-z0-9_-]{10,}|\bsq0[a-z]{3}-[A-Za-z0-9_-]{20,}|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}",
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
            "private key",
            r"PuTTY-User-Key-File-[0-9](?s:.*?)(?:Private-MAC:[^\n]*|$)|\bAGE-SECRET-KEY-1[0-9A-Za-z]{8,}",
            "[masked: private key]",
        ),
        rule(
            "password in a url",
            r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:([^ \n/:@]*:(?:[^ \n"'<>/]|/[^ \n"'<>/])+)|([^ \n/:@]*:[^ \n@/]+))@"#,
            "[masked: password]",
        ),
        rule("token in a url", r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://([A-Za-z0-9_-]{12,})@", "[masked: token]"),
        rule(
            "token in a url",
            r"(?i)[?&](?:access_token|token|key|api_key|apikey|sig|signature|secret|password|passwd|auth|code|X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token)=([^&\s#']{4,})",
            "[masked: token]",
        ),
        rule(
            "authorization header",
            r#"(?i)\b(?:proxy-)?authorization\\{0,7}["'`]?[ \x{a0}]*[:=][ \x{a0}]*\\{0,7}["'`]?(?:digest\s+([^\n]{4,})|aws4-hmac-sha256\s+([^\n"'`]{4,})|(?:bearer|basic|token|negotiate|ntlm|api-?key|key|hmac|oauth|jwt)\s+([^ \n"'`,\\]{4,})|([^ \n"'`,\\]{3,}(?:\x20+(?:\[masked: [a-z ]+\]|[^ \n"'`,\\]{6,}))?))"#,
            "[masked: token]",
        ),
        rule("bearer token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,})", "[masked: token]"),
        rule(
            "cookie",
            r#"(?i)\b(?:set-)?cookie(?:\\{0,7}["']?[ \x{a0}]*[:=][ \x{a0}]*(?:%QUOTED%)|:[ \x{a0}]*([^\n]{4,}))"#,
            "[masked: cookie]",
        ),
        rule(
            "cookie",
            r#"\s(?:-b|--cookie)[ =]*(?:\\{1,7}["']([^"'\\\n=]+=[^"'\\\n]+)|"([^"\n=]+=[^"\n]+)|'([^'\n=]+=[^'\n]+)|([^ \n\\"'=]+=[^ \n"']{3,}))"#,
            "[masked: cookie]",
        ),
        rule(
            "secret by its name",
            r#"(?i)%NAMES%%IS%(?:[|>][+-]?[ \x{a0}]+)?(?:%QUOTED%|(\[masked: [a-z ]+\]%BARE%+|[^ \n\\"'`,;&<>(){}]%BARE%{5,}))"#,
            "[masked: secret]",
        ),
        rule(
            "secret by its name",
            r#"(?i)(?:\b|_)(?:pass|pwd|psk)(?:\\{0,7}["'][ \x{a0}]*(?:=>|:)|[ \x{a0}]*=>?)[ \x{a0}]*(?:%QUOTED%|([^ \n\\"'`,;&<>(){}=]%BARE%{3,}))"#,
            "[masked: secret]",
        ),
        rule(
            "secret by its name",
            r#"(?im)%NAMES%["']?[ \x{a0}]*[:=][ \x{a0}]*[|>]?[+-]?[ \x{a0}]*\n[ \x{a0}]+([^ \n]{6,})[ \x{a0}]*(?:#[^\n]*)?$"#,
            "[masked: secret]",
        ),
        rule(
            "secret by its name",
            r#"(?i)%NAMES%\\{0,7}["']?(?:[\s,]|\\+n)+\\{0,7}["']?value\\{0,7}["']?[ \x{a0}]*[:=][ \x{a0}]*(?:%QUOTED%|(%BARE%{6,}))"#,
            "[masked: secret]",
        ),
        rule("secret in quotes", r#"(?i)%NAMES%(?:[ \x{a0}]+is)?:?[ \x{a0}]+(?:%QUOTED%)"#, "[masked: secret]"),
        rule(
            "secret by its name",
            r#"(?i)(?:\b|_)(?:pin|otp|totp|mfa|cvv|cvc)(?:[_-]?code)?%IS%["'`]?([0-9]{3,12})\b"#,
            "[masked: secret]",
        ),
        rule("secret by its name", r"(?i)<[a-z0-9_.:-]*%NAMES%(?:\s[^<>\n]*)?>\s*([^<>\n]{3,})</", "[masked: secret]"),
        rule("secret by its name", r"(?i)\blogin\s+[^ \n]+\s+password\s+([^ \n]{3,})", "[masked: secret]"),
        rule(
            "secret by its name",
            r#"(?i)\b(?:config(?:ure)?\s+(?:--?[^ \n]+\s+)*set|setx)\s+["']?[\w.:/@-]*%NAMES%["']?\s+(?:%QUOTED%|(%BARE%{4,}))"#,
            "[masked: secret]",
        ),
        rule("secret by its name", r#"--from-literal[ =]+["']?[\w.-]+=(?:%QUOTED%|(%BARE%{3,}))"#, "[masked: secret]"),
        rule(
            "secret by its option",
            r#"(?im)(?:^|[\s"'`\[,(])--?(?:[a-z0-9]+-)*(?:password|passwd|passphrase|pass|pwd|token|secret|secret-key|api-key|apikey|auth|access-key|credentials?)(?:[ =]+|\\{0,7}["'],\s*)(?:%QUOTED%|(%BARE%{4,}))"#,
            "[masked: secret]",
        ),
        rule(
            "secret by its option",
            r#"\b(?:mysql\w*|mariadb(?:-[a-z]+)?|7z[az]?)\s(?:[^\n|;&]*?\s)??-p(?:%QUOTED%|(%BARE%{3,}))"#,
            "[masked: secret]",
        ),
        rule(
            "secret by its option",
            r#"\b(?:(?:sshpass|mongo[a-z]*)\s(?:[^\n|;&]*?\s)??-p|(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|crane|az|oc|cf)\s(?:[^\n|;&]*?\s)?login\s(?:[^\n|;&]*?\s)??-p|redis-cli\s(?:[^\n|;&]*?\s)??-a|(?:un)?zip\s(?:[^\n|;&]*?\s)??-P|ldap[a-z]+\s(?:[^\n|;&]*?\s)??-w)[ =]*(?:%QUOTED%|(%BARE%{3,}))"#,
            "[masked: secret]",
        ),
        rule(
            "user and password",
            r#"\s(?:-[uU]|--(?:proxy-)?user)[ =]?(?:\\{1,7}["']([^"'\\\n:]+:[^"'\\\n]+)|"([^"\n:]+:[^"\n]+)|'([^'\n:]+:[^'\n]+)|([^ \n:\["']+:[^ \n"']+))"#,
            "[masked: password]",
        ),
        rule(
            "secret by its option",
            r#"-pass(?:in|out)?[ =]+["']?pass:(%BARE%{3,})|\bopenssl\s(?:[^\n|;&]*?\s)??-k\s+(?:%QUOTED%|(%BARE%{3,}))"#,
            "[masked: secret]",
        ),
        // docker's and npm's
        rule("secret by its name", r#"(?i)["']auth\\{0,7}["'][ \x{a0}]*:[ \x{a0}]*(?:%QUOTED%)"#, "[masked: secret]"),
        rule("secret on a line of netrc", r"(?im)^\s*password[ \x{a0}]+([^ \n]{6,})[ \x{a0}]*$", "[masked: secret]"),
        rule(
            "password hash",
            r#"\$(?:apr1|1|2[abxy]|5|6|7|y|gy|argon2[a-z]*|scrypt|pbkdf2-[a-z0-9]+)\$[^\s:"'\\]{8,}"#,
            "[masked: password hash]",
        ),
        rule(
            "mail address",
            r"(?i)\b[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}\b",
            "you@example.com",
        ),
        rule("home folder", r"/(?:home|Users)/([^/\s:'\x22)\],<>…]+)", "user"),
        // the name of a user of Windows may hold spaces
        rule(
            "home folder",
            r#"(?i)(?:\b[A-Z]:[\\/]{1,8}Users|\\home)[\\/]{1,8}(?:([^\\/\n:*?"'<>|]{1,40})[\\/]|([^\\/\s:'"]+))"#,
            "user",
        ),
        rule("home folder", r"/root\b", "/home/user"),
        rule("home folder", r"-(?:home|Users)-([A-Za-z0-9_]+)-", "user"),
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
        rule(
            "user at an address",
            r"\b([A-Za-z_][A-Za-z0-9._-]{0,31})@(?:192\.0\.2\.1|127\.0\.0\.1|2001:db8::1)\b",
            "user",
        ),
        rule("mac address", r"(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b", "[masked: mac address]"),
        rule("payment card", r"\b(?:[0-9]{4}[ -]){3}[0-9]{4}\b|\b[3-6][0-9]{12,18}\b", "[masked: payment card]"),
        rule(
            "bank account",
            r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b",
            "[masked: bank account]",
        ),
        rule(
            "phone number",
            r"\+[0-9]{1,3}[ .-]?\(?[0-9]{2,4}\)?(?:[ .-]?[0-9]{2,4}){2,4}\b|\([0-9]{3}\) ?[0-9]{3}[ .-][0-9]{4}\b",
            "[masked: phone number]",
        ),
        rule("random text", r"\b[A-Za-z0-9+/_-]{40,}={0,2}", "[masked: random text]"),
    ]
}

/// The words of authorization headers that are not secrets.
const SCHEMES: [&str; 9] = ["bearer", "basic", "token", "digest", "negotiate", "ntlm", "apikey", "key", "oauth"];

/// Values in a secret's place that say that there is none, or of which type it is.
const WORDS: [&str; 21] = [
    "boolean",
    "changed",
    "disabled",
    "enabled",
    "expired",
    "false",
    "hidden",
    "incorrect",
    "invalid",
    "missing",
    "none",
    "null",
    "number",
    "optional",
    "password",
    "rejected",
    "required",
    "string",
    "true",
    "undefined",
    "unknown",
];

/// Whether the value means one's own machine or nobody, or was masked before: `whole` was found, and `secret` is the
/// part that would be masked.
pub(super) fn harmless(kind: &str, whole: &str, secret: &str) -> bool {
    let named = |secret: &str| variable(secret) || WORDS.contains(&secret.to_ascii_lowercase().as_str());
    if done(secret) {
        return true;
    }
    match kind {
        "ip address" => {
            matches!(secret, "127.0.0.1" | "0.0.0.0" | "255.255.255.255" | "192.0.2.1" | "::1" | "2001:db8::1")
        }
        "authorization header" => SCHEMES.contains(&secret.to_ascii_lowercase().as_str()) || named(secret),
        "secret by its name" | "cookie" => {
            named(secret) || whole.to_ascii_lowercase().starts_with("pwd") && path(secret)
        }
        // `Unexpected token 'export'` is a compiler's
        "secret in quotes" | "secret on a line of netrc" => !mixed(secret),
        "payment card" => !secret.contains([' ', '-']) && !adds_up(secret),
        "bank account" => !is_account(secret),
        "user at an address" => secret == "user",
        "secret by its option" => named(secret) || option(secret),
        "user and password" => {
            // a user's and a group's number, a date's form, an address
            secret.bytes().all(|b| b.is_ascii_digit() || b == b':') || secret.starts_with('+') || secret.contains("://")
        }
        "password in a url" => secret.starts_with('[') || port(secret),
        "token in a url" if whole.contains("://") => !mixed(secret),
        "mail address" => {
            secret == "you@example.com"
                || secret.ends_with("@users.noreply.github.com") && secret.starts_with("noreply")
        }
        "home folder" => secret == "user" || whole == "/home/agent",
        "random text" => !random(secret),
        _ => false,
    }
}

/// Whether all of it is masked already; it may have been cut after that.
fn done(secret: &str) -> bool {
    let Some(rest) = secret.strip_prefix("[masked:") else { return false };
    rest.split_once(']').is_none_or(|(_, behind)| behind.chars().all(|c| c == '…' || c.is_ascii_punctuation()))
}

/// Whether it is a shell's or a template's variable, or a command whose output is inserted.
fn variable(text: &str) -> bool {
    let Some(name) = text.strip_prefix('$') else { return false };
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    name.starts_with(['{', '(']) || name.bytes().all(plain)
}

/// Whether it is a folder: `PWD=/here`.
fn path(text: &str) -> bool {
    text.starts_with(['/', '~', '.']) || text.as_bytes().get(1..3).is_some_and(|two| two == b":\\" || two == b":/")
}

/// Whether it is the next option, after one without a value.
fn option(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|rest| rest.split('=').next().unwrap_or(rest).bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
}

/// Whether it is a host with its port: `localhost:4873/` before an `@`.
fn port(text: &str) -> bool {
    let behind = text.split_once(':').map_or("", |(_, behind)| behind);
    behind
        .split_once('/')
        .is_some_and(|(port, _)| (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether the check digit of a card's number fits (Luhn).
fn adds_up(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, b)| u32::from(b.saturating_sub(b'0')) * if at % 2 == 1 { 2 } else { 1 })
        .map(|n| n / 10 + n % 10)
        .sum();
    sum.is_multiple_of(10)
}

/// Whether the check digits of a bank account's number fit (ISO 13616).
fn is_account(text: &str) -> bool {
    let plain: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let Some((head, rest)) = plain.split_at_checked(4) else { return false };
    let value = |b: &u8| u32::from(if b.is_ascii_digit() { b - b'0' } else { b.saturating_sub(b'A') + 10 });
    let left = rest.iter().chain(head).map(value).fold(0, |left, n| (left * if n > 9 { 100 } else { 10 } + n) % 97);
    left == 1
}

/// Whether it has both letters and digits.
fn mixed(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic())
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
