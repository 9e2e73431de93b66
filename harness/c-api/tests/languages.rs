//! The calls from Python, Node.js and Go, against a real process that hangs; and every answer against the schema.
//!
//! Invariants: a test waits for a state, never for a time; a language that is not installed is counted as ignored. The
//! library is the one that cargo builds beside this test, the binary that of the same profile.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_c::{Guard, GuardOptions, WhyOptions, json, why};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn main() {
    let node = || Command::new("node").arg("--version").output().is_ok();
    let all = [
        test("answers_have_the_shape_of_the_schema", true, answers_have_the_shape),
        test("python", has("python3"), python),
        test("node", has("node") && node(), npm),
        test("go", has("go") && has("cc"), go),
    ];
    libtest_mimic::run(&Arguments::from_args(), all.into()).exit();
}

fn test(name: &str, can_run: bool, run: fn() -> Result<(), Failed>) -> Trial {
    Trial::test(name, run).with_ignored_flag(!can_run)
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The folder of this profile, which has the library; in `deps` if it was built for this test alone.
fn built(file: &str) -> Result<PathBuf, Failed> {
    let own = std::env::current_exe()?;
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(file)).find(|path| path.is_file());
    found.ok_or_else(|| format!("there is no {file} beside this test: cargo build -p rehang -p rehang-c-api").into())
}

/// Bash, which waits for a cat whose stdin it has forgotten: each waits for the other.
struct Hung(Child);

impl Hung {
    fn start() -> Result<Hung, Failed> {
        let mut bash = Command::new("bash");
        bash.args(["-c", "coproc cat; wait $COPROC_PID"]).process_group(0);
        Ok(Hung(bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }

    fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.pid()) {
            // it is not reaped yet, so the group is its own
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

fn must(out: Output) -> Result<String, Failed> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match out.status.success() {
        true => Ok(text(&out.stdout).trim().to_owned()),
        false => Err(format!("{}\n{}{}", out.status, text(&out.stdout), text(&out.stderr)).into()),
    }
}

fn python() -> Result<(), Failed> {
    let hung = Hung::start()?;
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", root().join("packaging/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("REHANG_C_LIBRARY", built("librehang_c.so")?);
    let script = root().join("harness/c-api/tests/embed.py");
    let said = must(python.arg(script).arg(hung.pid().to_string()).output()?)?;
    if said == "ok" { Ok(()) } else { Err(said.into()) }
}

fn npm() -> Result<(), Failed> {
    let (hung, root) = (Hung::start()?, root());
    let mut node = Command::new("node");
    node.env("REHANG_BINARY", built("rehang")?);
    node.arg(root.join("harness/c-api/tests/embed.cjs")).arg(root.join("packaging/npm/rehang"));
    let said = must(node.arg(hung.pid().to_string()).output()?)?;
    if said == "ok" { Ok(()) } else { Err(said.into()) }
}

fn go() -> Result<(), Failed> {
    let (hung, root, library) = (Hung::start()?, root(), built("librehang_c.so")?);
    let folder = library.parent().unwrap_or(Path::new("."));
    let mut go = Command::new("go");
    go.env("CGO_ENABLED", "1").env("CGO_CFLAGS", format!("-I{}", root.join("harness/c-api/include").display()));
    go.env("CGO_LDFLAGS", format!("-L{0} -Wl,-rpath,{0}", folder.display())).env("GOFLAGS", "-mod=mod");
    go.env("GOCACHE", folder.join("go-cache")).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    go.arg("build").arg("-o").arg(folder.join("go-why")).arg(root.join("harness/c-api/examples/go/why.go"));
    must(go.output()?)?;
    loop {
        let said = must(Command::new(folder.join("go-why")).arg(hung.pid().to_string()).output()?)?;
        let said: Value = serde_json::from_str(&said)?;
        conforms(&said, "why")?;
        if said["state"] == "cannot-go-on" {
            assert_eq!(said["owes"]["pid"], hung.pid());
            return Ok(());
        }
    }
}

fn answers_have_the_shape() -> Result<(), Failed> {
    let hung = Hung::start()?;
    let options = WhyOptions { window_ms: 20, ..WhyOptions::default() };
    loop {
        let said: Value = serde_json::from_str(&json(why(hung.pid(), &options)))?;
        conforms(&said, "why")?;
        if said["state"] == "cannot-go-on" {
            break;
        }
    }
    conforms(&serde_json::from_str(&json(why(i32::MAX, &options)))?, "error")?;
    let mut guard = Guard::new(hung.pid(), &GuardOptions { pace: 400, ..GuardOptions::default() })?;
    loop {
        let said: Value = serde_json::from_str(&json(Ok(guard.ask())))?;
        conforms(&said, "answer")?;
        // the first step of the end: who is to be ended, and how that is planned to go on
        if said["steps"][0]["do"] == "signal" {
            assert_eq!((&said["state"], said["plan"].is_object()), (&"cannot-go-on".into(), true));
            return Ok(());
        }
        let next = said["next_ms"].as_u64().ok_or("nothing is due")?;
        std::thread::sleep(std::time::Duration::from_millis(next));
    }
}

/// Whether a value is as a definition of the schema says.
fn conforms(value: &Value, definition: &str) -> Result<(), Failed> {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(root().join("docs/embed.schema.json"))?)?;
    let wrong = deviations(value, &schema["$defs"][definition], &schema, definition);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong:?} in {value:#}").into()) }
}

/// What of a value is not as the schema says: the keywords that ours uses, and no others.
fn deviations(value: &Value, schema: &Value, root: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, says) in schema.as_object().into_iter().flatten() {
        let words = says.as_array().into_iter().flatten();
        let right = match keyword.as_str() {
            "description" => true,
            "$ref" => {
                let named = says.as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
                found.extend(named.map_or(vec![format!("{at}: {says}")], |named| deviations(value, named, root, at)));
                true
            }
            "const" => value == says,
            "enum" => words.clone().any(|word| word == value),
            "anyOf" => words.clone().any(|one| deviations(value, one, root, at).is_empty()),
            "type" => words.clone().chain(says.is_string().then_some(says)).any(|word| match word.as_str() {
                Some("null") => value.is_null(),
                Some("boolean") => value.is_boolean(),
                Some("integer") => value.is_i64() || value.is_u64(),
                Some("string") => value.is_string(),
                Some("array") => value.is_array(),
                Some("object") => value.is_object(),
                _ => false,
            }),
            "minimum" => value.as_i64().is_none_or(|number| Some(number) >= says.as_i64()),
            "required" => words.clone().all(|key| key.as_str().is_some_and(|key| value.get(key).is_some())),
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                found.extend(items.flat_map(|(n, item)| deviations(item, says, root, &format!("{at}.{n}"))));
                true
            }
            "properties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    match says.get(key) {
                        Some(schema) => found.extend(deviations(inner, schema, root, &format!("{at}.{key}"))),
                        // readers skip what they do not know; the schema of this version knows all that it writes
                        None => found.push(format!("{at}.{key} is not described")),
                    }
                }
                true
            }
            _ => false,
        };
        if !right {
            found.push(format!("{at}: {keyword} {says}"));
        }
    }
    found
}
