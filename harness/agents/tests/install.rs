//! Installing from a registry that is a script: whole releases, at most one download, a lock file that is kept to.
//!
//! The stub takes npm's place. It does what npm was seen to do: it writes the lock file and the package, and complains
//! on stderr with npm's own codes.

use rehang_agents::tool::Commands;
use rehang_agents::{Agent, Installed, Progress, Quiet, Recipe, Store, StoreError, Version, Wanted};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

const AGENT: &str = r#"
name   = "mine"
title  = "Mine"
source = { npm = "mine" }

[recipe]
program    = ["{root}/node_modules/mine/bin/mine"]
dialect    = "openai-chat"
model      = "m"
window-ms  = 10_000
memory-mib = 100
forms      = { run = { args = ["{prompt}"] } }

[[quirk]]
versions = ">=3.0"
because  = "a test"
recipe   = { program = ["{root}/node_modules/mine/bin/moved"] }
"#;

/// `npm view --json PACKAGE versions` and `npm install … PACKAGE@VERSION`, as a script with these knobs:
/// `$HASH` the package's hash, `$FAIL` a code that npm complains with, `$DIE` die half-way through.
const STUB: &str = r#"#!/bin/sh
here=$(dirname "$0")
. "$here/knobs"
case " $* " in
*" view "*)
  test -n "$FAIL" && { echo "npm error code $FAIL" >&2; exit 1; }
  echo '["1.10.0", "1.2.0", "2.0.0-beta.1", "3.0.0"]' ;;
*" install "*)
  case " $* " in *" --ignore-scripts "*) ;; *) echo "scripts would run" >&2; exit 9 ;; esac
  for spec in "$@"; do :; done
  version=${spec##*@}
  echo "$version" >> "$here/installs"
  test -n "$FAIL" && { echo "npm error code $FAIL" >&2; exit 1; }
  mkdir -p node_modules/mine/bin
  test -n "$DIE" && { echo half > node_modules/mine/bin/mine; kill -9 $$; }
  echo whole > node_modules/mine/bin/mine
  printf '{"lockfileVersion":3,"packages":{"":{},"node_modules/mine":{"version":"%s"%s}}}' "$version" "$HASH" > package-lock.json ;;
*) echo "what? $*" >&2; exit 9 ;;
esac
"#;

struct Registry {
    dir: tempfile::TempDir,
}

impl Registry {
    fn new() -> Registry {
        let registry = Registry { dir: tempfile::tempdir().unwrap() };
        let npm = registry.dir.path().join("npm");
        std::fs::write(&npm, STUB).unwrap();
        std::fs::set_permissions(&npm, std::fs::Permissions::from_mode(0o755)).unwrap();
        registry.knobs("abc", "", "");
        registry
    }

    fn knobs(&self, hash: &str, fail: &str, die: &str) {
        let hash = if hash.is_empty() { String::new() } else { format!(r#",\"integrity\":\"sha512-{hash}\""#) };
        let text = format!("HASH=\"{hash}\"\nFAIL={fail}\nDIE={die}\n");
        std::fs::write(self.dir.path().join("knobs"), text).unwrap();
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    fn store(&self) -> Store {
        let commands = Commands { npm: self.dir.path().join("npm"), ..Commands::default() };
        Store::with(&self.cache(), commands).unwrap()
    }

    fn installs(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("installs")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn agent() -> Agent {
    Agent::load("mine.toml", AGENT).unwrap_or_else(|e| panic!("{e}"))
}

fn recipe(version: &str) -> Recipe {
    agent().at(&Version::parse(version).unwrap()).unwrap()
}

fn program(installed: &Installed) -> String {
    std::fs::read_to_string(&installed.program[0]).unwrap()
}

#[test]
fn a_release_is_downloaded_once_and_its_hash_is_kept() {
    let registry = Registry::new();
    let store = registry.store();
    let first = store.install(&recipe("1.2.0"), &Quiet).unwrap();
    let again = store.install(&recipe("1.2.0"), &Quiet).unwrap();
    assert_eq!(first, again);
    assert_eq!(program(&first), "whole\n");
    assert_eq!(registry.installs(), ["1.2.0"]);
    let lock = std::fs::read_to_string(registry.cache().join("rehang.lock")).unwrap();
    assert!(lock.contains("npm:mine@1.2.0") && lock.contains("sha512-abc"), "{lock}");
    assert!(staging(&registry).is_empty());
}

fn staging(registry: &Registry) -> Vec<PathBuf> {
    let dir = registry.cache().join("staging");
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn two_at_once_download_once() {
    let registry = Registry::new();
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = registry.store();
                start.wait();
                assert_eq!(program(&store.install(&recipe("1.2.0"), &Quiet).unwrap()), "whole\n");
            });
        }
    });
    assert_eq!(registry.installs(), ["1.2.0"]);
}

#[test]
fn what_a_killed_download_left_is_thrown_away() {
    let registry = Registry::new();
    let store = registry.store();
    registry.knobs("abc", "", "yes");
    store.install(&recipe("1.2.0"), &Quiet).unwrap_err();
    // as a killed `rehang` leaves it: no time to clean up
    let half = registry.cache().join("staging/npm+mine@1.2.0/node_modules/mine/bin");
    std::fs::create_dir_all(&half).unwrap();
    std::fs::write(half.join("junk"), "half").unwrap();
    assert!(!store.has(&recipe("1.2.0")));
    registry.knobs("abc", "", "");
    let installed = store.install(&recipe("1.2.0"), &Quiet).unwrap();
    assert_eq!(program(&installed), "whole\n");
    assert!(!Path::new(&installed.program[0]).with_file_name("junk").exists());
}

#[test]
fn other_bytes_than_the_first_time_are_refused() {
    let registry = Registry::new();
    let store = registry.store();
    let installed = store.install(&recipe("1.2.0"), &Quiet).unwrap();
    std::fs::remove_dir_all(&installed.root).unwrap();
    registry.knobs("changed", "", "");
    let error = store.install(&recipe("1.2.0"), &Quiet).unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    assert!(error.to_string().contains("sha512-abc"), "{error}");
    assert!(!store.has(&recipe("1.2.0")));
    registry.knobs("", "", "");
    let error = store.install(&recipe("1.10.0"), &Quiet).unwrap_err();
    assert_eq!(error.to_string(), "mine@1.10.0 came without a hash: its bytes cannot be checked");
}

#[test]
fn what_npm_complains_of_is_said_in_words() {
    let registry = Registry::new();
    let store = registry.store();
    let fails = |code: &str| {
        registry.knobs("abc", code, "");
        store.install(&recipe("1.2.0"), &Quiet).unwrap_err()
    };
    assert!(matches!(fails("ENOTFOUND"), StoreError::NoNetwork { .. }));
    assert!(matches!(fails("ETARGET"), StoreError::NoVersion { .. }));
    assert!(matches!(fails("EINTEGRITY"), StoreError::BadBytes { .. }));
    assert!(fails("EOTHER").to_string().contains("EOTHER"));
    assert!(staging(&registry).is_empty());
    let no_npm = Commands { npm: registry.dir.path().join("nothing"), ..Commands::default() };
    let store = Store::with(&registry.cache(), no_npm).unwrap();
    let error = store.install(&recipe("1.2.0"), &Quiet).unwrap_err();
    assert!(error.to_string().starts_with("npm cannot be found: install Node.js"), "{error}");
}

#[test]
fn a_program_that_is_not_where_the_file_says_is_named() {
    let registry = Registry::new();
    let error = registry.store().install(&recipe("3.0.0"), &Quiet).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mine 3.0.0 has no node_modules/mine/bin/moved: its file needs a quirk for this version"
    );
}

#[test]
fn versions_are_those_of_the_registry_and_without_a_network_those_of_last_time() {
    let registry = Registry::new();
    let store = registry.store();
    let pick = |word: &str| -> Result<String, String> {
        let found = store.pick(&agent(), &Wanted::parse(word).unwrap()).map_err(|e| e.to_string())?;
        Ok(found.iter().map(Version::to_string).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(pick("all").as_deref(), Ok("1.2.0 1.10.0 3.0.0"));
    assert_eq!(
        pick("1.2.1").unwrap_err(),
        "mine: the registry has no version 1.2.1; the nearest are 1.2.0, 1.10.0, 3.0.0; `rehang agents mine` lists all"
    );
    registry.knobs("abc", "EAI_AGAIN", "");
    let list = registry.cache().join("versions/npm+mine@list.json");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    std::fs::File::options().write(true).open(&list).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(pick("latest").as_deref(), Ok("3.0.0"));
    std::fs::remove_file(&list).unwrap();
    assert!(pick("latest").unwrap_err().starts_with("npm cannot be reached"), "no list, no network");
}

#[test]
fn an_installed_release_that_is_named_whole_needs_no_registry() {
    let registry = Registry::new();
    let store = registry.store();
    store.install(&recipe("1.2.0"), &Quiet).unwrap();
    registry.knobs("abc", "EAI_AGAIN", "");
    let wanted = Wanted::parse("1.2.0").unwrap();
    assert_eq!(store.pick(&agent(), &wanted).unwrap(), [Version::new(1, 2, 0)]);
    assert!(store.install(&recipe("1.2.0"), &Quiet).is_ok());
}

#[test]
fn who_waits_for_another_run_is_told_so() {
    use rehang_agents::lock::Hold;
    struct Told<'a>(&'a std::sync::Mutex<Vec<String>>, std::sync::mpsc::Sender<()>);
    impl Progress for Told<'_> {
        fn at(&self, what: &str, _: u64) {
            self.0.lock().unwrap().push(what.to_owned());
            let _ = self.1.send(());
        }
    }
    let registry = Registry::new();
    let store = registry.store();
    let (told, (tell, waits)) = (std::sync::Mutex::new(Vec::new()), std::sync::mpsc::channel());
    let hold = Hold::take(&registry.cache().join("hold/npm+mine@1.2.0"), || panic!("nobody else")).unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| store.install(&recipe("1.2.0"), &Told(&told, tell)));
        waits.recv().unwrap();
        assert_eq!(told.lock().unwrap()[0], "waiting for another run that installs mine 1.2.0");
        assert!(registry.installs().is_empty());
        drop(hold);
        assert!(other.join().unwrap().is_ok());
    });
}
