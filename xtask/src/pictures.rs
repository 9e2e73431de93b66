//! `cargo xtask pictures`: the report, the site and the book in a real headless Chromium.
//!
//! It makes reports of real cells, opens them, goes through them with a mouse and with only keys, measures every label
//! in both themes at both widths, and writes screenshots.
//!
//! Invariants: nothing is installed; a page requests only its own file; a time that is measured is printed, and fails
//! only above a limit.

mod pages;
mod tree;

use crate::chromium::{self, Chromium};
use crate::tools::{self, Profile};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use xshell::Shell;

const CHECKS: &str = include_str!("pictures/checks.js");
/// The widths: a laptop's window, a phone.
const WIDTHS: [(u32, u32); 2] = [(1_280, 900), (390, 844)];
const THEMES: [&str; 2] = ["light", "dark"];
/// One cell of each kind: its name for the screenshot, and the words that find it in the list.
const KINDS: [(&str, &str); 7] = [
    ("question", "question/row-diff none"),
    ("terminal", "::tty:: claude"),
    ("watcher", "watcher@pr5 long-and-lively"),
    ("little-loops", "little-loops idle@f54b32f"),
    ("several-asks", "two-at-once"),
    ("many-events", "companion/monitor"),
    ("stdin", "stdin/ hung"),
];
/// Limits in milliseconds, for a machine under load; measured times are printed.
const OPEN_MAX_MS: f64 = 60_000.0;
/// A report of the whole matrix is a few MB.
const WHOLE_MAX_BYTES: u64 = 12 * 1024 * 1024;

/// The exit code of `rehang run` for the hostile scenario, which hangs and says that it does not.
const HANG: u8 = 3;

/// A file with errors, in the same folder.
const BROKEN: &str = "broken.toml";

/// What CI prints if there is no Chromium.
pub const MISSING: &str = "pictures: NOT RUN: chromium is missing (apt install chromium, or name one in $CHROMIUM)";

/// Makes the reports, or takes those of `made`, and checks them; returns 1 if something is wrong.
///
/// # Errors
/// There is no Chromium; a report that cannot be made.
pub fn pictures(sh: &Shell, made: Option<&Path>) -> xshell::Result<u8> {
    let Some(program) = chromium::find() else {
        eprintln!("{MISSING}");
        return Ok(2);
    };
    let folder = tools::target().join("pictures");
    sh.create_dir(&folder)?;
    let reports = match made {
        Some(reports) if !reports.is_dir() => {
            eprintln!(
                "error: --made {}: there is no such folder; without --made the reports are made",
                reports.display()
            );
            return Ok(2);
        }
        Some(reports) => reports.to_owned(),
        None => make(sh, &folder)?,
    };
    let shots = folder.join("screenshots");
    sh.create_dir(&shots)?;
    let profile = folder.join(format!("profile-{}", std::process::id()));
    let mut visit = match Chromium::start(&program, profile) {
        Ok(browser) => Visit { browser, shots, wrong: Vec::new(), own: Vec::new() },
        Err(error) => {
            eprintln!("error: {}: {error}", program.display());
            return Ok(2);
        }
    };
    if let Err(error) = visit.all(&reports) {
        visit.wrong.push(format!("broke off: {error}"));
    }
    for line in &visit.wrong {
        println!("WRONG {line}");
    }
    println!("pictures: {} complaints; screenshots in {}", visit.wrong.len(), visit.shots.display());
    Ok(u8::from(!visit.wrong.is_empty()))
}

/// Reports of a few cells, of the whole matrix, and of a hostile scenario whose expectation is wrong.
fn make(sh: &Shell, folder: &Path) -> xshell::Result<PathBuf> {
    let hostile = folder.join("hostile.toml");
    sh.write_file(&hostile, self::hostile())?;
    let hostile = hostile.display().to_string();
    let rehang = tools::built(sh, tools::REHANG, Profile::Dev)?;
    // these reports are not the user's last one
    let cache = folder.join("cache");
    let broken = folder.join(BROKEN);
    sh.write_file(&broken, "titel = \"<b>\"\n")?;
    let broken = broken.display().to_string();
    let hostile =
        ["--stage", "sim", "--strategy", "none", "--scenarios", hostile.as_str(), "--scenarios", broken.as_str()];
    let both = ["--stage", "both", "--strategy", "none", "question/row-diff"];
    for (name, rest, wanted) in [
        ("few", &["--stage", "sim", "question/row-diff"][..], 0),
        ("many", &["--stage", "sim"], 0),
        ("both", &both, 0),
        ("hostile", &hostile, HANG),
    ] {
        println!("pictures: making the report `{name}`");
        let mut run = std::process::Command::new(&rehang);
        run.env("REHANG_CACHE", &cache).args(["run", "--report"]).arg(folder.join(name)).args(rest);
        let code = tools::code(run.current_dir(tools::root()).stdout(std::process::Stdio::null()).status());
        if code != wanted {
            println!(
                "pictures: `rehang run` for `{name}` says {code}, not {wanted}; its report is looked at all the same"
            );
        }
    }
    // what other commands draw: a hang in a log, and a strategy's parameter on a healthy and a hung one
    let log = folder.join("hung.jsonl");
    sh.write_file(&log, HUNG)?;
    let golden = tools::root().join("fake-agents/tests/golden/opencode-1.2.15");
    let golden = golden.display().to_string();
    let log = log.display().to_string();
    let reproduce = ["reproduce", log.as_str()];
    let tune = ["score", "--logs", golden.as_str(), log.as_str(), "--strategy", "watcher@pr3", "--param", "idle"];
    for (name, command) in [("reproduced", &reproduce[..]), ("tuned", &tune)] {
        println!("pictures: making the report `{name}`");
        let mut run = std::process::Command::new(&rehang);
        run.env("REHANG_CACHE", &cache).args(command).arg("--report").arg(folder.join(name));
        let code = tools::code(run.current_dir(tools::root()).stdout(std::process::Stdio::null()).status());
        if code != 0 {
            println!("pictures: `rehang {}` says {code}; its report is looked at all the same", command[0]);
        }
    }
    pages::make(sh, folder)?;
    Ok(folder.to_owned())
}

/// An opencode server that asks, as a client recorded it.
const HUNG: &str = r#"{"t":0.1,"kind":"sse:event","ev":{"type":"session.created","properties":{"info":{"id":"ses_1","version":"1.2.15"}}}}
{"t":0.2,"kind":"rest","method":"POST","path":"/session/ses_1/prompt_async","body":{},"status":204,"response":""}
{"t":0.3,"kind":"sse:event","ev":{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}}
{"t":1.0,"kind":"sse:event","ev":{"type":"question.asked","properties":{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}}}
"#;

/// A scenario whose texts are markup, control characters, bidi overrides, and very long; its expectation is wrong.
fn hostile() -> String {
    let evil = "</script><img src=x onerror=\\\"document.title='owned'\\\"><!-- & <b>bold</b>";
    let (control, long) = ("\\u001b[2J\\u0007\\b", "long ".repeat(50_000));
    let mut text =
        format!("title = \"{evil}\"\nmechanism = \"Q1\"\nagent = {{ opencode = {{}} }}\nterminals = [\"null\"]\n");
    let turns = format!(
        "{{ bash = {{ command = \"{evil}\", does = [{{ print = \"{evil}{control}\" }}] }} }}, {{ say = \"{long}\" }}"
    );
    let ask = format!("{{ ask = [{{ question = \"{evil}\", options = [{{ label = \"{evil}\" }}] }}] }}");
    let _ = writeln!(text, "turns = [{ask}, {turns}]\n\n[control]\nturns = [{turns}]");
    let _ = writeln!(
        text,
        "\n[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\n\n[[expect]]\noutcome = \"as none\""
    );
    text
}

/// The address of the first cell that the list shows for some words.
fn first(words: &str) -> String {
    format!(
        "(() => {{ const i = document.getElementById('words'); i.value = {words:?}; i.dispatchEvent(new Event('input')); \
         const a = document.querySelector('#cells a'); return a && a.getAttribute('href'); }})()"
    )
}

struct Visit {
    browser: Chromium,
    shots: PathBuf,
    wrong: Vec<String>,
    /// The folders whose files a page may request.
    own: Vec<PathBuf>,
}

impl Visit {
    fn all(&mut self, reports: &Path) -> io::Result<()> {
        let url = |name: &str| format!("file://{}", reports.join(name).join("index.html").display());
        self.figures(reports, &[("few", url("few")), ("many", url("many"))])?;
        self.looks(&url("many"))?;
        self.mouse(&url("many"))?;
        self.keys(&url("many"))?;
        self.hostile(&url("hostile"))?;
        self.stages(&url("both"))?;
        self.in_all_looks("reproduced", &url("reproduced"), "")?;
        self.squares(&url("tuned"))?;
        self.pages(reports)
    }

    /// A table without a script, in both themes at both widths: a square opens with Enter, closes with Escape, and gets
    /// the focus back.
    fn squares(&mut self, url: &str) -> io::Result<()> {
        for (width, height) in WIDTHS {
            for theme in THEMES {
                self.browser.look(width, height, theme)?;
                self.browser.open(url)?;
                self.measure(&format!("tuned-{width}-{theme}"))?;
            }
        }
        self.browser.look(1_280, 900, "light")?;
        self.browser.open(url)?;
        let focus = "document.activeElement.hasAttribute('popovertarget')";
        self.tab_to("a square", focus)?;
        self.browser.press("Enter")?;
        self.until("Enter opens a square", "document.querySelector(':popover-open h2') !== null")?;
        self.browser.press("Escape")?;
        self.until("Escape closes it", "document.querySelector(':popover-open') === null")?;
        self.until("and the square has the focus", focus)?;
        self.quiet("tuned");
        Ok(())
    }

    /// Measures how fast pages are, and prints the figures.
    fn figures(&mut self, reports: &Path, pages: &[(&str, String)]) -> io::Result<()> {
        for (name, url) in pages {
            self.browser.look(1_280, 900, "light")?;
            self.open(url, "")?;
            let told = self.browser.eval(
                "(async () => { const paint = performance.getEntriesByName('first-contentful-paint')[0]; \
                 const ready = performance.getEntriesByType('navigation')[0].loadEventEnd; const links = [...document.querySelectorAll('#cells a')].map((a) => a.getAttribute('href')); const took = []; \
                 for (let n = 0; n < 9; n++) { const began = performance.now(); location.hash = links[n * 5 % links.length]; \
                 while (document.documentElement.dataset.shown !== location.hash) await new Promise((r) => setTimeout(r, 1)); \
                 took.push(performance.now() - began); } took.sort((a, b) => a - b); \
                 return [paint ? paint.startTime : 0, ready, took[4]]; })()",
            )?;
            let count = "document.getElementById('count').textContent";
            let (count, bytes) =
                (self.browser.eval(count)?, std::fs::metadata(reports.join(name).join("index.html"))?.len());
            let ms: Vec<f64> = (0..3).map(|at| told[at].as_f64().unwrap_or(f64::MAX)).collect();
            println!(
                "pictures: {name}: {count}, {bytes} bytes; first paint {:.0} ms, loaded {:.0} ms, a cell opens in {:.0} ms (median of 9)",
                ms[0], ms[1], ms[2]
            );
            if ms.iter().any(|ms| *ms > OPEN_MAX_MS) {
                self.wrong.push(format!("{name}: slower than any ceiling: {ms:?}"));
            }
            if bytes > WHOLE_MAX_BYTES {
                self.wrong.push(format!("{name}: {bytes} bytes"));
            }
        }
        Ok(())
    }

    /// Checks all kinds of pages in both themes at both widths.
    fn looks(&mut self, url: &str) -> io::Result<()> {
        self.open(url, "")?;
        let mut hashes = vec![("list".to_owned(), String::new())];
        for (kind, words) in KINDS {
            match self.browser.eval(&first(words))?.as_str() {
                Some(hash) => hashes.push((kind.to_owned(), hash.to_owned())),
                None => self.wrong.push(format!("the report has no cell of the kind {kind} ({words})")),
            }
        }
        for (name, hash) in hashes {
            self.in_all_looks(&name, url, &hash)?;
        }
        Ok(())
    }

    fn in_all_looks(&mut self, name: &str, url: &str, hash: &str) -> io::Result<()> {
        for (width, height) in WIDTHS {
            for theme in THEMES {
                self.browser.look(width, height, theme)?;
                self.open(url, hash)?;
                self.measure(&format!("{name}-{width}-{theme}"))?;
            }
        }
        self.browser.print()?;
        self.open(url, hash)?;
        self.measure(&format!("{name}-paper"))?;
        self.browser.look(1_280, 900, "light")
    }

    /// Checks boxes, contrast and names, and takes a screenshot.
    fn measure(&mut self, name: &str) -> io::Result<()> {
        let told = self.browser.eval(CHECKS)?;
        let complaints = told["complaints"].as_array().cloned().unwrap_or_default();
        self.wrong.extend(complaints.iter().filter_map(Value::as_str).map(|line| format!("{name}: {line}")));
        if told["labels"].as_u64().unwrap_or(0) < 10 {
            self.wrong.push(format!("{name}: hardly a label: the page is empty"));
        }
        // mdBook's own frame is not ours
        if !name.starts_with("book-") {
            let tree = self.browser.call("Accessibility.getFullAXTree", serde_json::json!({}))?;
            let heard = tree::complaints(tree["nodes"].as_array().map_or(&[], Vec::as_slice));
            self.wrong.extend(heard.into_iter().map(|line| format!("{name}: to a screen reader: {line}")));
        }
        self.quiet(name);
        let shot = self.browser.screenshot()?;
        self.save(&format!("{name}.png"), shot)
    }

    /// Writes what is in base64 into a file beside the screenshots.
    fn save(&mut self, name: &str, base64: String) -> io::Result<()> {
        let file = self.shots.join(name);
        let coded = self.shots.join(format!("{name}.b64"));
        std::fs::write(&coded, base64)?;
        // the decoder of coreutils: this saves one dependency
        let decoded =
            std::process::Command::new("base64").arg("-d").arg(&coded).stdout(std::fs::File::create(&file)?).status();
        decoded.and_then(|_| std::fs::remove_file(coded))
    }

    /// Checks a square, the filter, a cell, its gaps to scale, its terminal.
    fn mouse(&mut self, url: &str) -> io::Result<()> {
        self.open(url, "")?;
        let all = self.number("document.getElementById('count').textContent")?;
        self.browser.click("#heat button")?;
        self.until(
            "a square opens its cells",
            "location.hash.startsWith('#s=') && document.documentElement.dataset.shown === location.hash",
        )?;
        let some = self.number("document.getElementById('count').textContent")?;
        self.demand("a square's cells are some of all", some > 0.0 && some < all);
        self.open(url, "")?;
        self.browser.click("#words")?;
        for key in ["h", "u", "n", "g"] {
            self.browser.press(key)?;
        }
        let hung = "[...document.querySelectorAll('#cells tbody tr')].every((row) => row.textContent.includes('hung'))";
        self.until("the filter filters", hung)?;
        self.browser.click("#bad")?;
        self.until("a whole matrix is as expected", "document.getElementById('count').textContent.startsWith('0 ')")?;
        self.browser.click("#bad")?;
        self.until("and all come back", "document.querySelectorAll('#cells a').length > 0")?;
        self.browser.click("#cells a")?;
        self.until("a click opens a cell", "!!document.querySelector('.lanes tbody tr')")?;
        let (_, watcher) = KINDS[2];
        self.open(url, "")?;
        self.open_first(watcher)?;
        self.until("a watcher's cell has gaps", "!!document.querySelector('.lanes .gap')")?;
        let height = "document.querySelector('.lanes').offsetHeight";
        let before = self.number(height)?;
        self.browser.click("#scale")?;
        self.until(
            "gaps are drawn to scale",
            "document.querySelector('#scale').getAttribute('aria-pressed') === 'true'",
        )?;
        let after = self.number(height)?;
        self.demand("gaps to scale are taller", after > before);
        self.story(url)?;
        let (_, words) = KINDS[1];
        self.open(url, "")?;
        self.open_first(words)?;
        self.until("a cell with a terminal has a player", "!!document.querySelector('.play')")?;
        self.browser.eval(
            "(() => { const r = document.querySelector('input[type=range]'); r.value = r.max; \
             r.dispatchEvent(new Event('input')); })()",
        )?;
        self.until("the last screen shows something", "document.querySelector('.screen').textContent.trim() !== ''")?;
        self.browser.click(".play")?;
        self.until("it plays", "document.querySelector('.play').textContent === 'Stop'")?;
        self.quiet("mouse");
        Ok(())
    }

    /// Checks that a cell begins with its sentence and the lines that decided it, that wires are shown on demand, and that its
    /// mechanism is explained in place.
    fn story(&mut self, url: &str) -> io::Result<()> {
        let (_, words) = KINDS[0];
        self.open(url, "")?;
        self.open_first(words)?;
        self.until(
            "the sentence says what is waited for",
            "/ waits for the answer /.test(document.querySelector('.story').textContent)",
        )?;
        let first = "!!(document.querySelector('.decisive').compareDocumentPosition(document.querySelector('.lanes')) & Node.DOCUMENT_POSITION_FOLLOWING)";
        self.until("what decided it comes before the timeline", first)?;
        self.until("an ask is as wide as it is long", "document.querySelector('.long > span').offsetWidth > 50")?;
        let rows = "document.querySelectorAll('.lanes tbody tr').length";
        let before = self.number(rows)?;
        self.until("wires are hidden", "!document.querySelector('.lanes .l-wire')")?;
        self.browser.click("#wires")?;
        self.until("wires are shown on demand", "!!document.querySelector('.lanes .l-wire')")?;
        let after = self.number(rows)?;
        self.demand("wires are more rows", after > before);
        self.browser.click("#wires")?;
        self.until("and hidden again", "!document.querySelector('.lanes .l-wire')")?;
        self.browser.click("#cell .meaning summary")?;
        self.until("the mechanism is explained", "document.querySelector('#cell .meaning dd').checkVisibility()")?;
        let unsaid = "[...document.querySelectorAll('#cell .scroll')].every((box) => box.previousElementSibling.matches('.cue') && \
                      box.previousElementSibling.hidden === (box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1))";
        self.until("a box that scrolls says so", unsaid)
    }

    /// Checks the same without a mouse.
    fn keys(&mut self, url: &str) -> io::Result<()> {
        self.open(url, "")?;
        self.tab_to("the scoreboard", "document.activeElement.matches('#heat button')")?;
        let at = "document.activeElement.getAttribute('aria-label')";
        let first = self.browser.eval(at)?;
        for key in ["ArrowDown", "ArrowRight"] {
            self.browser.press(key)?;
        }
        // the focused element is not hidden under a sticky head, and the heads are seen with it
        let seen = "(() => { const of = (e, y) => { const b = e.getBoundingClientRect(), t = document.elementFromPoint(b.x + b.width / 2, b.y + y); return e === t || e.contains(t); }; \
                    const e = document.activeElement; return of(e, 3) && of(document.querySelectorAll('#heat thead th')[e.closest('td').cellIndex - 1], 6); })()";
        for _ in 0..45 {
            self.browser.press("ArrowDown")?;
        }
        self.until("the focus and its head are seen at the foot of the first column", seen)?;
        let start = self.browser.eval(at)?;
        self.browser.press("End")?;
        let end = self.browser.eval(at)?;
        self.demand("End goes to a row's last square", end != start && end.is_string());
        for key in ["ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight"] {
            for _ in 0..45 {
                self.browser.press(key)?;
            }
            self.until(&format!("the focus and its head are seen behind 45 × {key}"), seen)?;
        }
        let moved = self.browser.eval(at)?;
        self.demand("arrow keys move in the scoreboard", moved != first && moved.is_string());
        let outline = "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; })()";
        self.until("the focus is seen", outline)?;
        self.browser.press("Enter")?;
        self.until("Enter opens a square", "document.documentElement.dataset.shown.startsWith('#s=')")?;
        self.until("the focus is on the list's title", "document.activeElement.id === 'list-title'")?;
        self.tab_to("a cell", "document.activeElement.matches('#cells a')")?;
        let opened = self.browser.eval("document.activeElement.getAttribute('href')")?;
        self.browser.press("Enter")?;
        self.until("Enter opens a cell", "document.documentElement.dataset.shown.startsWith('#cell=')")?;
        self.until("the focus is on its title", "document.activeElement.id === 'cell-title'")?;
        self.until(
            "the page is called as the cell",
            "document.title.startsWith(document.getElementById('cell-title').textContent)",
        )?;
        self.tab_to("a row of the timeline", "document.activeElement.matches('.lanes tr')")?;
        let row = "document.activeElement.rowIndex";
        let before = self.number(row)?;
        self.browser.press("ArrowDown")?;
        let after = self.number(row)?;
        self.demand("arrow keys move in the timeline", after > before);
        self.browser.press("Escape")?;
        self.until(
            "Escape goes back to the square's cells",
            "document.documentElement.dataset.shown.startsWith('#s=')",
        )?;
        let back = self.browser.eval("document.activeElement.getAttribute('href')")?;
        self.demand("the focus is back where the cell was opened", back == opened);
        self.browser.press("Escape")?;
        self.until("Escape goes back to all", "document.documentElement.dataset.shown === ''")?;
        let square = self.browser.eval(at)?;
        self.demand("the focus is back on the square", square == moved);
        self.quiet("keys");
        Ok(())
    }

    /// A cell that ran on two stages is in the list twice, and each entry opens.
    fn stages(&mut self, url: &str) -> io::Result<()> {
        self.open(url, "")?;
        let opened = self.browser.eval(
            "(async () => { const told = new Set(); for (const hash of [...document.querySelectorAll('#cells a')].map((a) => a.getAttribute('href'))) { \
             location.hash = hash; while (document.documentElement.dataset.shown !== hash) await new Promise((r) => setTimeout(r, 1)); \
             told.add(document.querySelector('#cell-title').textContent + document.querySelector('#cell pre.wrap').textContent); } return told.size; })()",
        )?;
        let listed = self.number("document.getElementById('count').textContent")?;
        self.demand("each cell of each stage opens", opened.as_f64() == Some(listed));
        self.quiet("both");
        Ok(())
    }

    /// Markup, control characters, bidi and length remain text; what is wrong is shown first.
    fn hostile(&mut self, url: &str) -> io::Result<()> {
        self.open(url, "")?;
        let named = format!("document.querySelector('#unseen li').textContent.includes('{BROKEN}: line 1')");
        self.until("a file with errors is named, with what is wrong", &named)?;
        self.tab_to("what is not as expected", "document.activeElement.matches('header .bad')")?;
        self.browser.press("Enter")?;
        self.until(
            "it opens the list of it",
            "document.getElementById('bad').checked && document.activeElement.id === 'list-title'",
        )?;
        self.until("which says why", "/^NOT: .+/.test(document.querySelector('#cells td.bad').textContent)")?;
        let hash = self.browser.eval("document.querySelector('#cells a').getAttribute('href')")?;
        let hash = hash.as_str().unwrap_or_default().to_owned();
        self.in_all_looks("hostile", url, &hash)?;
        self.open(url, &hash)?;
        self.until(
            "the markup is shown as text",
            "document.querySelector('#cell').textContent.includes('<img src=x')",
        )?;
        self.until("it is not as expected, and says so", "!!document.querySelector('#cell .bad li')")?;
        let whole =
            "document.images.length === 0 && !document.title.includes('owned') && !document.querySelector('#cell b')";
        self.until("nothing of it is markup", whole)?;
        let controls = "!/[\\u0000-\\u0008\\u000b-\\u001f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.querySelector('#cell').textContent)";
        self.until("no control character, no bidi override", controls)?;
        self.quiet("hostile");
        Ok(())
    }

    fn open_first(&mut self, words: &str) -> io::Result<()> {
        self.browser.eval(&format!("location.hash = {}", first(words)))?;
        self.until("a cell opens", "document.documentElement.dataset.shown === location.hash")
    }

    fn open(&mut self, url: &str, hash: &str) -> io::Result<()> {
        self.browser.open(&format!("{url}{hash}"))?;
        self.until("the page is ready", "document.documentElement.dataset.ready === ''")
    }

    /// Waits for an expression to become true, as long as the browser may live; one frame between two looks.
    fn until(&mut self, what: &str, expression: &str) -> io::Result<()> {
        let wait = format!(
            "(async () => {{ const end = performance.now() + {OPEN_MAX_MS}; while (!({expression})) {{ \
             if (performance.now() > end) return false; await new Promise((r) => setTimeout(r, 5)); }} return true; }})()"
        );
        let held = self.browser.eval(&wait)? == json!(true);
        self.demand(what, held);
        Ok(())
    }

    fn tab_to(&mut self, what: &str, expression: &str) -> io::Result<()> {
        for _ in 0..40 {
            self.browser.press("Tab")?;
            if self.browser.eval(expression)? == json!(true) {
                return Ok(());
            }
        }
        Err(io::Error::other(format!("Tab does not reach {what}")))
    }

    fn number(&mut self, expression: &str) -> io::Result<f64> {
        Ok(self.browser.eval(&format!("parseFloat({expression})"))?.as_f64().unwrap_or(f64::NAN))
    }

    fn demand(&mut self, what: &str, held: bool) {
        if !held {
            self.wrong.push(format!("not so: {what}"));
        }
    }

    /// Checks that there is no error on the console, and no request except for the file itself.
    fn quiet(&mut self, name: &str) {
        for event in std::mem::take(&mut self.browser.events) {
            let params = &event["params"];
            let wrong = match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" if params["type"] == "error" => Some(params["args"].to_string()),
                "Log.entryAdded" => Some(params["entry"].to_string()),
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap_or_default();
                    let own = url.starts_with("file://") && params["type"] == "Document" || url.starts_with("about:");
                    let own = own || self.is_own(url) || url.starts_with("data:");
                    (!own).then(|| format!("a request to {url}"))
                }
                _ => None,
            };
            self.wrong.extend(wrong.map(|what| format!("{name}: {what}")));
        }
    }
}
