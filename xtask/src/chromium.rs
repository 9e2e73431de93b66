//! A headless Chromium, driven by its DevTools protocol over a pipe.
//! <https://chromedevtools.github.io/devtools-protocol/>
//!
//! Invariants: it has its own profile, which is deleted after it; it ends with its handle, or at its deadline.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Where Debian, Ubuntu and other systems install it.
const PLACES: [&str; 4] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/opt/google/chrome/chrome"];
/// The options of the browser: without a window, and without requests of its own in the background.
const FLAGS: [&str; 13] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
];
/// The time limit of one browser's whole run; it measures nothing.
const DEADLINE: Duration = Duration::from_secs(900);

/// The path of Chromium: `$CHROMIUM`, or one of the usual places.
pub fn find() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    named.into_iter().chain(PLACES.map(PathBuf::from)).find(|path| path.is_file())
}

/// A browser with one page.
pub struct Chromium {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    profile: PathBuf,
    /// The events of the page since this was last emptied.
    pub events: Vec<Value>,
}

impl Chromium {
    /// Starts a browser with an empty page.
    ///
    /// # Errors
    /// A browser that does not start or does not speak.
    pub fn start(program: &Path, profile: PathBuf) -> io::Result<Chromium> {
        // its pipe is descriptors 3 and 4
        let redirect = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", redirect])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipe to chromium"));
        };
        watch(child.id());
        let from = BufReader::new(from);
        let mut it = Chromium { child, to, from, session: String::new(), next: 0, profile, events: Vec::new() };
        let target = it.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = it.call("Target.attachToTarget", attach)?;
        it.session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            it.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(it)
    }

    /// Calls a method of the protocol.
    ///
    /// # Errors
    /// A method that fails, a browser that has ended.
    pub fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes())?;
        self.to.flush()?;
        loop {
            let mut answer = self.read()?;
            if answer["id"] == json!(self.next) {
                return match answer.get("error") {
                    Some(error) => Err(io::Error::other(format!("{method}: {error}"))),
                    None => Ok(answer["result"].take()),
                };
            }
            self.events.push(answer);
        }
    }

    /// Evaluates an expression in the page; a promise is awaited.
    ///
    /// # Errors
    /// What the expression throws.
    pub fn eval(&mut self, expression: &str) -> io::Result<Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut result = self.call("Runtime.evaluate", params)?;
        match result.get("exceptionDetails") {
            Some(thrown) => Err(io::Error::other(format!("{expression}: {thrown}"))),
            None => Ok(result["result"]["value"].take()),
        }
    }

    /// Width, height in CSS pixels, and the theme that is preferred.
    ///
    /// # Errors
    /// The errors of [`Chromium::call`].
    pub fn look(&mut self, width: u32, height: u32, theme: &str) -> io::Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "", "features": features })).map(|_| ())
    }

    /// As paper: A4, landscape, with margins of 10 mm at 96 dots an inch.
    ///
    /// # Errors
    /// The errors of [`Chromium::call`].
    pub fn print(&mut self) -> io::Result<()> {
        let size = json!({ "width": 1_047, "height": 718, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let features = json!([{ "name": "prefers-color-scheme", "value": "light" }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print", "features": features })).map(|_| ())
    }

    /// The page as PDF, in base64.
    ///
    /// # Errors
    /// The errors of [`Chromium::call`].
    pub fn pdf(&mut self) -> io::Result<String> {
        let made = self.call("Page.printToPDF", json!({ "printBackground": true, "preferCSSPageSize": true }))?;
        Ok(made["data"].as_str().unwrap_or_default().to_owned())
    }

    /// Goes to an address and waits until the page is loaded.
    ///
    /// # Errors
    /// The errors of [`Chromium::call`].
    pub fn open(&mut self, url: &str) -> io::Result<()> {
        // an address that differs only in its fragment would not load anew
        self.call("Page.navigate", json!({ "url": "about:blank" }))?;
        self.loaded()?;
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }))?;
        self.loaded()
    }

    fn loaded(&mut self) -> io::Result<()> {
        let is_load = |event: &Value| event["method"] == "Page.loadEventFired";
        if let Some(at) = self.events.iter().position(is_load) {
            self.events.remove(at);
            return Ok(());
        }
        loop {
            let event = self.read()?;
            if is_load(&event) {
                return Ok(());
            }
            self.events.push(event);
        }
    }

    /// Presses a key: `Tab`, `Enter`, `Escape`, `ArrowDown`, a letter.
    ///
    /// # Errors
    /// The errors of [`Chromium::call`].
    pub fn press(&mut self, key: &str) -> io::Result<()> {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let mut params = json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if !text.is_empty() {
            params["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", params.clone())?;
        params["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", params).map(|_| ())
    }

    /// Clicks the middle of the first element that a selector names.
    ///
    /// # Errors
    /// There is no such element; the errors of [`Chromium::call`].
    pub fn click(&mut self, selector: &str) -> io::Result<()> {
        let middle = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{ block: 'center', inline: 'center' }}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ))?;
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({ "type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", params)?;
        }
        Ok(())
    }

    /// A screenshot, as PNG in base64.
    ///
    /// # Errors
    /// The errors of [`Chromium::call`].
    pub fn screenshot(&mut self) -> io::Result<String> {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }))?;
        Ok(shot["data"].as_str().unwrap_or_default().to_owned())
    }

    fn read(&mut self) -> io::Result<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message)?;
        if message.pop() != Some(0) {
            return Err(io::Error::other("chromium has ended, or was ended at its deadline"));
        }
        Ok(serde_json::from_slice(&message)?)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.call("Browser.close", json!({}));
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// Ends the process group of a browser at the deadline; normally the group is gone before that.
fn watch(group: u32) {
    std::thread::spawn(move || {
        std::thread::sleep(DEADLINE);
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
    });
}
