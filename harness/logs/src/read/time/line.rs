//! The time in front of a line: where it is, and what comes after it.
//!
//! Invariant: what may come before a time is a level, a name or a number that a logger writes there. A time in the middle
//! of a sentence, or of a list of files, is not the line's.

use super::front::{Part, decoration, escape, part};
use super::shapes::{Found, HEAD_BYTES, Since, dated, ends, moment};
use super::{LAST_SECOND, number_ms};

/// A line's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Milliseconds since its origin.
    pub ms: u64,
    /// Its origin.
    pub since: Since,
    /// The line after the time.
    pub text: &'a str,
}

/// A line's own time before its text: `2026-11-20T12:20:26.066Z text`, `I1120 12:20:26.066 1 x.go:1] text`.
pub fn stamped(line: &str) -> Option<(u64, &str)> {
    find(line).map(|stamp| (stamp.ms, stamp.text))
}

/// The time that a line begins with, or that comes after what loggers write in front of it.
pub fn find(line: &str) -> Option<Stamp<'_>> {
    let head = head_of(line);
    if line.trim_start().starts_with('{') {
        return None;
    }
    let (found, from) = in_front(head).or_else(|| member(head))?;
    Some(Stamp { ms: found.ms, since: found.since, text: after(&line[from + found.len..]) })
}

/// The time of a line's member: `{'time': '2026-05-01T10:00:00', 'msg': 'x'}`, which is no JSON.
pub fn find_member(line: &str) -> Option<Stamp<'_>> {
    let (found, from) = member(head_of(line))?;
    Some(Stamp { ms: found.ms, since: found.since, text: after(&line[from + found.len..]) })
}

/// What is looked at of a line.
fn head_of(line: &str) -> &str {
    let mut end = line.len().min(HEAD_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

/// What comes after a time, without what closes it.
fn after(text: &str) -> &str {
    let rest = text.trim_start_matches([']', ')', '"', '\'', '>', '\u{1b}', '\u{7}']);
    let rest = if text.starts_with("\u{1b}[") { escape(text).map_or(rest, |len| &text[len..]) } else { rest };
    let rest = rest.strip_prefix([':', ',', ';']).unwrap_or(rest);
    rest.strip_prefix([' ', '\t']).unwrap_or(rest)
}

/// A time at a line's begin, or after what loggers write in front of it: its place is returned as well.
fn in_front(head: &str) -> Option<(Found, usize)> {
    let mut at = 0;
    let mut named = false;
    for nth in 0..PARTS {
        let (open, opened) = decoration(&head[at..]);
        at += open;
        let rest = &head[at..];
        if let Some(found) = begins(rest, opened, named, nth == 0) {
            return Some((found, at));
        }
        // `[pod/x/agent] `, `[Step 1/2] `: a group
        let group = rest.find([']', ')']).filter(|close| opened && *close <= GROUP_BYTES);
        let part = part(rest).filter(|part| part.named || group.is_none());
        let part = part.or_else(|| group.map(|close| Part { len: close + 1, named: false }))?;
        named |= part.named;
        at += part.len;
    }
    None
}

/// The most that loggers write in front of a time, in parts. A choice.
const PARTS: usize = 6;
/// The longest group in brackets in front of a time, in bytes. A choice.
const GROUP_BYTES: usize = 64;

/// What a text begins with.
fn begins(text: &str, opened: bool, named: bool, first: bool) -> Option<Found> {
    if let Some(clock) = text.strip_prefix('T').and_then(moment).filter(|found| found.since == Since::Midnight) {
        return Some(Found { len: clock.len + 1, ..clock });
    }
    if let Some(found) = klog(text) {
        return Some(found);
    }
    if let Some(found) = moment(text) {
        // hours and minutes alone are a time at the line's begin only
        return (found.since != Since::Either || first && at_begin(&text[found.len..], opened)).then_some(found);
    }
    number(text, opened, named)
}

/// Whether hours and minutes that this comes after are a time.
fn at_begin(rest: &str, opened: bool) -> bool {
    rest.starts_with([']', ')']) || !opened && rest.starts_with([' ', '\t']) || rest.starts_with(": ")
}

/// `I0501 10:00:00.000000`, `I20260501 10:00:00.000`.
fn klog(text: &str) -> Option<Found> {
    let letter = text.bytes().next().filter(|b| b"IWEFDVTNC".contains(b))?;
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    debug_assert!(letter.is_ascii());
    let found = match digits {
        4 => {
            let with_mark = format!("{}-{}", &text[1..3], &text[3..]);
            let found = dated(&with_mark).filter(|found| found.since == Since::Year)?;
            Found { len: found.len - 1, ..found }
        }
        8 => dated(&text[1..])?,
        _ => return None,
    };
    Some(Found { len: found.len + 1, ..found })
}

/// A number that is a time: seconds since 1970 or finer, seconds since the begin, a span.
fn number(text: &str, opened: bool, named: bool) -> Option<Found> {
    if let Some(label) = text.strip_prefix('@').and_then(tai64n) {
        return Some(label);
    }
    let plus = text.len() - text.strip_prefix("T+").or_else(|| text.strip_prefix('+')).unwrap_or(text).len();
    let text = &text[plus..];
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let fraction =
        text[whole..].strip_prefix(['.', ',']).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let len = whole + if fraction > 0 { 1 + fraction } else { 0 };
    if whole == 0 || whole > 19 {
        return None;
    }
    let value: f64 = text[..len].replace(',', ".").parse().ok()?;
    let found = |ms: u64, since, len| Some(Found { ms, since, len: plus + len });
    let rest = &text[len..];
    let absolute = matches!(whole, 10 | 13 | 16 | 19).then(|| number_ms(value)).flatten();
    if let Some(ms) = absolute.filter(|ms| (1_000_000_000_000..LAST_SECOND * 1_000).contains(ms)) {
        return (ends(rest) && rest.starts_with([' ', '\t', ']', ')', ':', ',', '|', '>', '"', ';', '\u{7}']))
            .then_some(())
            .and_then(|()| found(ms, Since::Epoch, len));
    }
    if let Some((ms, len)) = span(text).filter(|_| opened || plus > 0) {
        return found(ms, Since::Begin, len);
    }
    // `[   12.345678]` of a kernel, `INFO[0540]`
    let closes = rest.starts_with([']', ')']);
    let kernel = opened && closes && fraction >= 2;
    let counted = plus > 0 && (closes || rest.starts_with([' ', '\t', ':']));
    let of_level = named && opened && closes && whole >= 4 && fraction == 0;
    let ms = number_ms(value).filter(|_| value < 1e8);
    ms.filter(|_| kernel || counted || of_level).and_then(|ms| found(ms, Since::Begin, len))
}

/// A span: `9m0s`, `1h 2m 3.5s`, `540.1s`, `540ms`.
fn span(text: &str) -> Option<(u64, usize)> {
    let (mut at, mut total, mut any) = (0, 0.0_f64, false);
    for _ in 0..4 {
        let rest = &text[at..];
        let rest = if any { rest.strip_prefix(' ').unwrap_or(rest) } else { rest };
        let from = text.len() - rest.len();
        let len = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let Ok(value) = rest[..len].parse::<f64>() else { break };
        let letters = rest[len..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match &rest[len..len + letters] {
            "d" => 86_400_000.0,
            "h" => 3_600_000.0,
            "m" | "min" => 60_000.0,
            "s" | "sec" => 1_000.0,
            "ms" => 1.0,
            _ => break,
        };
        (total, any) = (total + value * unit, true);
        at = from + len + letters;
    }
    (any && total < 1e11 && ends(&text[at..])).then_some((total.round() as u64, at))
}

/// A label of TAI64N, as `tai64n` and s6 write it, after its `@`: seconds since 1970 plus 2^62 and ten, nanoseconds.
fn tai64n(text: &str) -> Option<Found> {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    if digits != 24 {
        return None;
    }
    let seconds = u64::from_str_radix(&text[..16], 16).ok()?.checked_sub((1 << 62) + 10)?;
    let nanos = u64::from_str_radix(&text[16..24], 16).ok()?;
    let ms = seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000)?;
    (seconds < LAST_SECOND).then_some(Found { ms, since: Since::Epoch, len: 25 })
}

/// Names of a member that is a line's time.
const NAMES: [&str; 13] = [
    "time",
    "ts",
    "timestamp",
    "t",
    "@timestamp",
    "datetime",
    "asctime",
    "when",
    "date",
    "at",
    "eventtime",
    "log_time",
    "_time",
];

/// The time of a line of members: `level=info ts=2026-05-01T10:00:00Z msg=…`.
fn member(head: &str) -> Option<(Found, usize)> {
    let bytes = head.as_bytes();
    for at in memchr::memchr2_iter(b'=', b':', bytes) {
        let quoted = head[..at].trim_end_matches(['"', '\'']);
        let from = quoted
            .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '.')))
            .map_or(0, |place| place + quoted[place..].chars().next().map_or(1, char::len_utf8));
        let name = quoted[from..].to_ascii_lowercase();
        if !NAMES.contains(&name.as_str()) {
            continue;
        }
        // `time: …` at a line's begin only, unless it is quoted
        let colon = bytes[at] == b':';
        if colon && (from > 0 && quoted.len() == at || matches!(name.as_str(), "date" | "at" | "t" | "when")) {
            continue;
        }
        let at = if colon && bytes.get(at + 1) == Some(&b' ') { at + 1 } else { at };
        let begin = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'"' | b'\'' | b'[')));
        let rest = head.get(begin..)?;
        // `date=2026-05-01 time=10:00:00`
        if name == "date"
            && let Some((date, clock)) = rest.split_once(' ')
            && let Some(clock) = clock.strip_prefix("time=").map(|c| c.trim_start_matches('"'))
            && let Some(found) = dated(&format!("{} {clock}", date.trim_end_matches('"')))
        {
            let skipped = rest.len() - clock.len();
            let taken = found.len.saturating_sub(date.trim_end_matches('"').len() + 1);
            return Some((Found { len: skipped + taken, ..found }, begin));
        }
        if let Some(found) = moment(rest).or_else(|| epoch(rest)) {
            return Some((found, begin));
        }
    }
    None
}

/// A number of a member: an instant since 1970, or seconds since the begin.
fn epoch(text: &str) -> Option<Found> {
    let len = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let value: f64 = text[..len].parse().ok()?;
    let ms = number_ms(value).filter(|_| ends(&text[len..]))?;
    let since = if ms >= 1_000_000_000_000 { Since::Epoch } else { Since::Begin };
    Some(Found { ms, since, len })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::time::Clocks;

    /// Each shape with `@` for the minute: at 0 and at 7 they are seven minutes apart.
    const SHAPES: &[&str] = &[
        "14:0@",
        "[14:0@]",
        "14:0@:30",
        "[14:0@:30.5]",
        "2:0@:30 PM",
        "2:0@PM",
        "14:0@:30,123 -",
        "T14:0@:30Z",
        "2027-03-04 14:0@:30",
        "2027-03-04T14:0@:30.123456789Z",
        "2027-03-04T14:0@:30,5+02:00",
        "[2027-03-04T14:0@:30-0500]",
        "2027-03-04T14:0@:30.1+01:00[Europe/Berlin]",
        "2027-03-04T14:0@Z",
        "20270304T140@30Z",
        "20270304140@30",
        "2027-03-04_14:0@:30.00001",
        "2027-03-04 14-0@-30",
        "2027-03-04 14.0@.30",
        "2027-063T14:0@:30Z",
        "2027/03/04 14:0@:30",
        "2027.03.04 14:0@:30",
        "2027年03月04日 14:0@:30",
        "04.03.2027 14:0@:30",
        "4.3.2027, 14:0@:30",
        "03/04/2027 02:0@:30 PM",
        "3/4/2027, 2:0@:30 PM",
        "23/04/2027 14:0@:30",
        "04-Mar-2027 14:0@:30.123",
        "4-Mar-2027::14:0@:30.123",
        "Mar  4 14:0@:30 host agent[7]:",
        "Mar 04 14:0@:30",
        "Mar 4, 2027 2:0@:30 PM",
        "March 4, 2027 at 14:0@:30",
        "Thu Mar  4 14:0@:30 2027",
        "Thu Mar  4 14:0@:30 CET 2027",
        "Thu, 04 Mar 2027 14:0@:30 +0000",
        "Thursday, 04-Mar-27 14:0@:30 GMT",
        "[Thu Mar 04 14:0@:30.000001 2027] [core:error]",
        "27/03/04 14:0@:30",
        "270304 14:0@:30",
        "03-04 14:0@:30.123  7  7 I Tag:",
        "W0304 14:0@:30.000001 7 a.go:1]",
        "I20270304 14:0@:30.000001 7 a.go:1]",
        "<13>Mar  4 14:0@:30 host agent:",
        "<13>1 2027-03-04T14:0@:30Z host agent 7 - -",
        "WARN 2027-03-04 14:0@:30",
        "[WARN] [2027-03-04 14:0@:30]",
        "WARNING:root:2027-03-04 14:0@:30",
        "root - WARNING - 2027-03-04 14:0@:30,1 -",
        "I, [2027-03-04T14:0@:30.1 #7]  INFO -- :",
        "web-1  | 2027-03-04T14:0@:30Z",
        "3|web  | 14:0@:30:",
        "[pod/web-x/main] 2027-03-04T14:0@:30Z",
        "[Step 1/2] 14:0@:30",
        "[pid  7] 14:0@:30.123",
        "7:M 04 Mar 2027 14:0@:30.123 *",
        "10.0.0.1 - me [04/Mar/2027:14:0@:30 +0000] \"GET / HTTP/1.1\"",
        "job\tstep\t2027-03-04T14:0@:30.1Z",
        "2027-03-04\t14:0@:30\tx",
        "2027-03-04,14:0@:30,INFO,",
        "\"2027-03-04 14:0@:30\",\"INFO\"",
        "time=2027-03-04T14:0@:30Z level=info",
        "level=info ts=\"2027-03-04 14:0@:30\" msg=",
        "@timestamp=2027-03-04T14:0@:30Z",
        "date=2027-03-04 time=14:0@:30 x=1",
        "time: 2027-03-04T14:0@:30Z",
        "<event time=\"2027-03-04T14:0@:30Z\">",
        "2027-03-04 14:0@:30.1 +0000 UTC m=+0.1",
        "\u{1b}[36m14:0@:30\u{1b}[0m \u{1b}[32mINFO\u{1b}[0m",
        "\u{1b}[2m2027-03-04T14:0@:30.123Z\u{1b}[0m",
        "🕐 14:0@:30",
        "--- 2027-03-04 14:0@:30 ---",
        "+1h0@m30s",
        "[0@m30s]",
    ];

    #[test]
    fn times_of_all_shapes_are_seven_minutes_apart() {
        for shape in SHAPES {
            let lines = [0, 7].map(|minute| format!("{} text", shape.replacen('@', &minute.to_string(), usize::MAX)));
            // the sign of a name is no minute
            let lines = lines.map(|line| line.replace("0timestamp", "@timestamp").replace("7timestamp", "@timestamp"));
            let [one, two] = lines.each_ref().map(|line| find(line).map(|stamp| (stamp.ms, stamp.since)));
            let (Some((one, since)), Some((two, other))) = (one, two) else { panic!("{shape}: {one:?} {two:?}") };
            assert_eq!((two - one, since), (420_000, other), "{shape}");
        }
    }

    #[test]
    fn numbers_since_1970_are_times_in_whatever_unit() {
        let at = Some(1_804_168_830_000);
        for line in [
            "1804168830 x",
            "[1804168830.000] x",
            "1804168830000: x",
            "1804168830000000 x",
            "1804168830000000000 x",
            "ts=1804168830 x",
            "level=info t=1804168830000 msg=x",
            "\u{1b}_bk;t=1804168830000\u{7}x",
            "@400000006b896e88000000ff x",
        ] {
            assert_eq!(find(line).map(|stamp| stamp.ms), at, "{line}");
        }
        for (line, ms) in
            [("[   12.345678] x", 12_346), ("INFO[0420] x", 420_000), ("[+1.5s] x", 1_500), ("T+12.5 x", 12_500)]
        {
            assert_eq!(find(line).map(|stamp| (stamp.ms, stamp.since)), Some((ms, Since::Begin)), "{line}");
        }
        assert_eq!(find_member("{'time': '2027-03-04T14:07:10', 'msg': 'x'}").map(|s| s.ms), Some(1_804_169_230_000));
    }

    #[test]
    fn a_time_within_a_line_is_not_the_lines_own() {
        for line in [
            "",
            "x",
            "-rw-r--r-- 1 root root 650 2026-11-20 00:00:00.000 x",
            "Date:   Fri May 1 10:00:00 2026 +0200",
            "Modify: 2026-11-20 00:00:00.000000000 +0000",
            "src/x.rs:10:20: error",
            "src/x.rs:10:20:30",
            "error[E0433]: x",
            "took 10:00:00",
            "at 10:00 we meet",
            "the build of 2026-05-01 10:00:00 failed",
            "[1/20] cc",
            "[12] x",
            "[1.2] x",
            "1.2.3.4:8080 x",
            "v10.0.1",
            "12.5 MB",
            "1:2 x",
            "99:99:99 x",
            "2026-13-01 10:00:00 x",
            "2026-02-01 10:61:00 x",
            "+12.5% x",
            "2026-05-01 x",
            "May 2026 was warm",
            "9999999999999999999999 x",
            "99999999999999999999999999:00:00 x",
            "@ffffffffffffffffffffffff x",
            "{\"t\":5} x",
            "I0501",
            "I9999 10:00:00 x",
            "<",
            "<999999>x",
            "[",
            "\u{1b}[",
            "T+",
            "+",
            "é2026",
            "time=",
            "time=é",
            "date=2026-05-01 time=",
            "ts=1e308 x",
        ] {
            assert_eq!(find(line), None, "{line}");
        }
    }

    #[test]
    fn no_cut_of_a_line_makes_a_reader_panic() {
        for shape in SHAPES {
            let whole = format!("{}é text", shape.replace('@', "5"));
            for (at, _) in whole.char_indices() {
                let _ = (find(&whole[..at]), find(&whole[at..]), find_member(&whole[at..]));
            }
            let long = whole.repeat(2_000);
            let _ = find(&long);
        }
    }

    #[test]
    fn clocks_go_on_at_midnight_and_never_turn_back_for_less() {
        let read = |lines: &[&str]| -> Vec<Option<u64>> {
            let mut clocks = Clocks::default();
            lines.iter().map(|line| clocks.instant(&find(line).unwrap())).collect()
        };
        let day = 86_400_000;
        assert_eq!(read(&["23:59:00 x", "00:08:00 x"]), [Some(day - 60_000), Some(day + 480_000)]);
        assert_eq!(read(&["12:00:00 x", "11:59:59 x"]), [Some(day / 2), Some(day / 2 - 1_000)]);
        let [before, after] = read(&["Dec 31 23:59:00 x", "Jan  1 00:08:00 x"])[..] else { panic!() };
        assert_eq!(after.zip(before).map(|(after, before)| after - before), Some(540_000));
        // minutes and seconds of a run, and hours and minutes of a day
        assert_eq!(read(&["[00:05] x", "[09:05] x"]), [Some(5_000), Some(545_000)]);
        assert_eq!(read(&["[10:05] x", "[10:14] x"]), [Some(36_300_000), Some(36_840_000)]);
        // two origins
        assert_eq!(
            read(&["10:00:00 x", "2026-05-01 10:00:00 x", "10:00:09 x"]),
            [Some(36_000_000), None, Some(36_009_000)]
        );
    }
}
