//! The sandbox: an agent that looks for the user's data finds nothing, whoever started it.
//!
//! Each trial starts this program again as the supervisor of a sandbox, since a process cannot leave its namespaces
//! again.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_live::sandbox::{self, BIN, CWD, HOME, RoomFile, Sandbox};
use rehang_scenario::Terminal;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What makes this program a supervisor.
const SUPERVISOR: &str = "__sandbox";

fn main() -> std::process::ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SUPERVISOR) {
        return supervisor();
    }
    // what a killed supervisor leaves becomes this process's child
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        eprintln!("{error}");
        return 2.into();
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    // only root may become somebody else; an ordinary user is one already
    let starts: &[(&str, Who)] = match rustix::process::geteuid().is_root() {
        true => &[("root", Who::Me), ("ordinary user", Who::Nobody)],
        false => &[("ordinary user", Who::Me)],
    };
    for &(who, start) in starts {
        let mut add = |name: &str, trial: fn(Who) -> Result<(), Failed>| {
            trials.push(Trial::test(format!("{name} ({who})"), move || trial(start)));
        };
        add("an agent cannot read the user's home", home);
        add("an agent cannot read the user's environment", environment);
        add("an agent has loopback alone", network);
        add("an agent sees no process but its own", processes);
        add("an agent has no capability and gains none", capabilities);
        add("an agent writes nothing that stays", writes);
        add("a terminal is the agent's own", terminal);
        add("the sandbox ends with its supervisor", supervisor_dies);
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Who starts the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Whoever runs the tests.
    Me,
    /// A user who owns nothing.
    Nobody,
}

/// Plays the supervisor: the sandbox comes on stdin, what the agent prints goes to stdout.
fn supervisor() -> std::process::ExitCode {
    let mut json = String::new();
    let read = std::io::stdin().read_to_string(&mut json);
    let sandbox: Sandbox = match read.ok().and_then(|_| serde_json::from_str(&json).ok()) {
        Some(sandbox) => sandbox,
        None => return 2.into(),
    };
    let started = sandbox::enter().and_then(|()| sandbox::start(&sandbox));
    let mut started = match started {
        Ok(started) => started,
        Err(error) => {
            eprintln!("{error}");
            return 3.into();
        }
    };
    let from = started.stdout.take().or_else(|| started.master.take());
    if let Some(from) = from {
        let mut from = std::fs::File::from(from);
        let mut buffer = [0; 4_096];
        // a terminal's master gives an error if the other side is gone
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let _ = std::io::stdout().write_all(&buffer[..n]);
            let _ = std::io::stdout().flush();
        }
    }
    0.into()
}

fn sandbox(script: &str, terminal: Terminal) -> Sandbox {
    let file = RoomFile { path: PathBuf::from(BIN).join("agent.sh"), text: script.to_owned(), executable: true };
    Sandbox {
        shown: Vec::new(),
        files: vec![file],
        argv: vec!["/bin/sh".to_owned(), format!("{BIN}/agent.sh")],
        env: vec![("HOME".to_owned(), HOME.to_owned()), ("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        terminal,
        size: rehang_live::ScreenSize::DEFAULT,
    }
}

/// Starts a supervisor with secrets in its surroundings.
fn start(who: Who, sandbox: &Sandbox) -> Result<std::process::Child, Failed> {
    let exe = std::env::current_exe()?;
    let mut command = match who {
        Who::Me => Command::new(exe),
        Who::Nobody => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(exe);
            command
        }
    };
    let child = command
        .arg(SUPERVISOR)
        .env("REHANG_TEST_SECRET", "hunter2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(serde_json::to_string(sandbox)?.as_bytes())?;
    }
    Ok(child)
}

/// What a script prints in a sandbox.
fn printed(who: Who, script: &str, terminal: Terminal) -> Result<String, Failed> {
    let output = start(who, &sandbox(script, terminal))?.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("no sandbox: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is(got: &str, expected: &str) -> Result<(), Failed> {
    if got == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}").into()) }
}

fn home(who: Who) -> Result<(), Failed> {
    // a file that the user who starts the sandbox can read
    let secret = tempfile::tempdir()?;
    std::fs::write(secret.path().join("secret"), "hunter2")?;
    let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(secret.path(), mode)?;
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let script = format!(
        "cat {}/secret; ls -A {home} | head -3; ls -A /root /home /tmp /mnt /run /srv | grep -v '^$'; cat /etc/shadow; \
         cat /etc/machine-id; pwd; ls -A {CWD}; readlink /proc/1/root /proc/1/cwd; cd /proc/1/root && ls",
        secret.path().display()
    );
    is(
        &printed(who, &format!("exec 2>/dev/null\n{script}"), Terminal::Null)?,
        "/home:\nagent\n/run:\n/tmp:\n/home/agent/project\n",
    )
}

fn environment(who: Who) -> Result<(), Failed> {
    let script = "exec 2>/dev/null\nenv | grep -v '^PWD=' | sort\nfor p in /proc/[0-9]*; do \
                  [ \"$p\" = /proc/$$ ] || tr '\\0' '\\n' < $p/environ; done | grep -c SECRET\nls /proc/1/fd | wc -l";
    is(&printed(who, script, Terminal::Null)?, "HOME=/home/agent\nPATH=/usr/bin:/bin\n0\n0\n")
}

fn network(who: Who) -> Result<(), Failed> {
    // a server of the machine, on the address that the sandbox also uses
    let outside = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = outside.local_addr()?.port();
    let script = format!(
        "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; wc -l < /proc/net/route\n\
         python3 -c 'import socket\n\
         for to in [(\"127.0.0.1\", {port}), (\"1.1.1.1\", 53), (\"10.0.0.1\", 80)]:\n\
         \x20 try: socket.create_connection(to, 3); print(\"reached\", to[0])\n\
         \x20 except OSError as e: print(to[0], e.strerror)\n\
         s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname()); print(\"loopback works\")'"
    );
    is(
        &printed(who, &script, Terminal::Null)?,
        "lo\n1\n127.0.0.1 Connection refused\n1.1.1.1 Network is unreachable\n10.0.0.1 Network is unreachable\nloopback works\n",
    )
}

fn processes(who: Who) -> Result<(), Failed> {
    let script = "ls -d /proc/[0-9]* | wc -l; kill -9 1 2>/dev/null; kill -TERM 1 2>/dev/null; echo alive";
    // the sandbox's first process, the shell, `ls` and `wc`
    let printed = printed(who, script, Terminal::Null)?;
    is(printed.trim_start_matches(|c: char| c.is_ascii_digit()), "\nalive\n")?;
    let seen: u32 = printed.lines().next().unwrap_or_default().parse()?;
    if seen > 5 { Err(format!("{seen} processes in sight").into()) } else { Ok(()) }
}

fn capabilities(who: Who) -> Result<(), Failed> {
    let script = "id -u; id -G; grep -E '^(Cap|NoNew)' /proc/self/status; \
                  mount -t tmpfs none /tmp 2>/dev/null && echo mounted; \
                  chroot / true 2>/dev/null && echo chroot; hostname evil 2>/dev/null && echo named";
    let none = "0000000000000000";
    let expected = format!(
        "CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t1\n"
    );
    is(&printed(who, script, Terminal::Null)?, &format!("1000\n1000\n{expected}"))
}

fn writes(who: Who) -> Result<(), Failed> {
    let own = format!("/tmp/rehang-sandbox-{}", std::process::id());
    let script = format!(
        "exec 2>/dev/null\ntouch {own} && echo own tmp\ntouch $HOME/x && echo own home\n\
         touch /usr/x && echo usr\ntouch /etc/x && echo etc\ntouch /x && echo root\n\
         echo 1 > /proc/sys/kernel/sysrq && echo sysctl\n[ -e /sys/kernel ] && echo sys\nexit 0"
    );
    is(&printed(who, &script, Terminal::Null)?, "own tmp\nown home\n")?;
    if std::path::Path::new(&own).exists() { Err("it wrote outside".into()) } else { Ok(()) }
}

fn terminal(who: Who) -> Result<(), Failed> {
    let script = "tty; stty size; echo to the terminal > /dev/tty; ls /dev/pts";
    let got = printed(who, script, Terminal::Tty)?;
    is(&got, "/dev/pts/0\r\n40 120\r\nto the terminal\r\n0  ptmx\r\n")
}

fn supervisor_dies(who: Who) -> Result<(), Failed> {
    // two processes that wait for ever, one in a session of its own
    let script = "setsid sleep 1000 & readlink /proc/self/ns/pid; exec sleep 1000";
    let mut child = start(who, &sandbox(script, Terminal::Null))?;
    let mut stdout = child.stdout.take().ok_or("no stdout")?;
    let mut name = String::new();
    let mut byte = [0];
    while !name.ends_with('\n') && stdout.read(&mut byte)? == 1 {
        name.push(char::from(byte[0]));
    }
    let supervisor = child.id();
    let below = std::fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"))?;
    let first: i32 = below.trim().parse()?;
    child.kill()?;
    child.wait()?;
    // The sandbox's first process is a child of this process now, and its end ends everything: the kernel releases it
    // last.
    nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(first), None)?;
    let left = std::fs::read_dir("/proc")?.flatten().any(|entry| {
        std::fs::read_link(entry.path().join("ns/pid")).is_ok_and(|link| link.to_string_lossy() == name.trim())
    });
    if left { Err("a process of the sandbox is left".into()) } else { Ok(()) }
}
