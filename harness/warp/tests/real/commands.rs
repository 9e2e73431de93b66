//! Commands that people use, with their virtual times. A command that is not installed is left out, and says so.

use crate::support::{command, has, run};
use libtest_mimic::Trial;
use rehang_warp::Verdict;

struct Case {
    name: &'static str,
    /// What must be installed.
    needs: &'static [&'static str],
    words: &'static [&'static str],
    /// The exit code, or 128 and the signal that ended it.
    code: i32,
    nanos: u128,
    /// What it writes.
    output: &'static str,
}

const SECOND: u128 = 1_000_000_000;

const CASES: &[Case] = &[
    Case { name: "sleep", needs: &[], words: &["sleep", "18000"], code: 0, nanos: 18_000 * SECOND, output: "" },
    Case {
        name: "a_shell_waits_for_a_sleep",
        needs: &["bash"],
        words: &["bash", "-c", "sleep 3600 & wait"],
        code: 0,
        nanos: 3_600 * SECOND,
        output: "",
    },
    Case {
        name: "timeout",
        needs: &["timeout"],
        words: &["timeout", "1800", "sleep", "999999"],
        code: 124,
        nanos: 1_800 * SECOND,
        output: "",
    },
    Case {
        name: "timeout_kills_what_ignores_sigterm",
        needs: &["timeout", "bash"],
        words: &["timeout", "-k", "60", "600", "bash", "-c", "trap '' TERM; sleep 5000; sleep 5000"],
        code: 128 + 9,
        nanos: 660 * SECOND,
        output: "",
    },
    Case {
        name: "nested_shells_and_pipes",
        needs: &[],
        words: &[
            "sh",
            "-c",
            r#"sh -c "sh -c 'sleep 700; echo a' | (sleep 300; cat)" | sh -c "sleep 100; cat; date +%s >/dev/null""#,
        ],
        code: 0,
        nanos: 700 * SECOND,
        output: "a\n",
    },
    Case {
        name: "flock_gives_up",
        needs: &["flock", "bash"],
        words: &[
            "bash",
            "-c",
            "d=$(mktemp -d); cd $d; flock l sleep 5000 & sleep 1; flock -w 600 l true; echo $?; rm -r $d",
        ],
        code: 0,
        nanos: 601 * SECOND,
        output: "1\n",
    },
    Case {
        name: "perl_alarm",
        needs: &["perl"],
        words: &["perl", "-e", "$SIG{ALRM}=sub{print time-$^T,\"\\n\"; exit 3}; alarm 900; sleep 50000"],
        code: 3,
        nanos: 900 * SECOND,
        output: "900\n",
    },
    Case {
        name: "bash_read_with_a_limit",
        needs: &["bash"],
        words: &["bash", "-c", "mkfifo $$.f && exec 3<>$$.f && rm $$.f; read -t 90 -u 3; echo $?; echo $SECONDS"],
        code: 0,
        nanos: 90 * SECOND,
        output: "142\n90\n",
    },
    Case {
        name: "expect_on_a_terminal",
        needs: &["expect", "bash"],
        words: &[
            "expect",
            "-c",
            "set timeout 600; log_user 0; spawn bash --norc -c {read -p \"name? \" x; sleep 100000}; \
             expect {name? } {send bob\\r}; expect never {puts never} timeout {puts over}",
        ],
        code: 0,
        nanos: 600 * SECOND,
        output: "over\n",
    },
    Case {
        name: "tmux",
        needs: &["tmux", "bash"],
        words: &[
            "bash",
            "-c",
            "export TMUX_TMPDIR=$(mktemp -d); unset TMUX
             tmux -f /dev/null new-session -d -x 80 -y 24 'sleep 1200; echo done-line; sleep 5'
             sleep 60; tmux list-sessions >/dev/null && echo alive
             sleep 1142; tmux capture-pane -p | grep done-line
             sleep 100; tmux list-sessions >/dev/null 2>&1 || echo gone
             rm -r $TMUX_TMPDIR",
        ],
        code: 0,
        nanos: 1_302 * SECOND,
        output: "alive\ndone-line\ngone\n",
    },
    Case {
        name: "python_communicate_with_a_limit",
        needs: &["python3"],
        words: &[
            "python3",
            "-c",
            "
import subprocess, time, os
r, w = os.pipe()
a = time.monotonic()
p = subprocess.Popen(['cat'], stdin=r, stdout=subprocess.PIPE)
try: p.communicate(timeout=1800)
except subprocess.TimeoutExpired: print(round(time.monotonic() - a, 3))
p.kill(); print(p.wait())",
        ],
        code: 0,
        // after exactly 1,800 s it asks the clock again and again until more have passed
        nanos: 1_800 * SECOND + 1_000_000,
        output: "1800.001\n-9\n",
    },
    Case {
        name: "python_idle_limit_beside_a_ticking_child",
        needs: &["python3"],
        words: &[
            "python3",
            "-c",
            "
import subprocess, time, selectors, os
a = time.monotonic(); n = 0
p = subprocess.Popen(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do sleep 30; echo $i; done; exec sleep 100000'],
                     stdout=subprocess.PIPE)
s = selectors.DefaultSelector(); s.register(p.stdout, selectors.EVENT_READ)
last = a
while True:
    if not s.select(600 - (time.monotonic() - last)): print(round(time.monotonic() - a, 3), n); break
    n += os.read(p.stdout.fileno(), 4096).count(b'\\n'); last = time.monotonic()
p.kill(); p.wait()",
        ],
        code: 0,
        nanos: 840 * SECOND,
        output: "840.0 8\n",
    },
    Case {
        name: "python_timers_and_asyncio",
        needs: &["python3"],
        words: &[
            "python3",
            "-c",
            "
import threading, time, asyncio, queue
a = time.monotonic()
def say(*what): print(*what, round(time.monotonic() - a, 3))
t = threading.Timer(3600, lambda: say('timer')); t.start()
c = threading.Condition()
with c: r = c.wait(timeout=1200)
say('cond', r)
q = queue.Queue()
try: q.get(timeout=900)
except queue.Empty: say('queue')
t.join()
async def m():
    try: await asyncio.wait_for(asyncio.Event().wait(), 7200)
    except asyncio.TimeoutError: say('asyncio')
    p = await asyncio.create_subprocess_exec('sleep', '100000')
    try: await asyncio.wait_for(p.wait(), 1800)
    except asyncio.TimeoutError: p.kill(); say('process', await p.wait())
asyncio.run(m())",
        ],
        code: 0,
        nanos: 12_600 * SECOND,
        output: "cond False 1200.0\nqueue 2100.0\ntimer 3600.0\nasyncio 10800.0\nprocess -9 12600.0\n",
    },
    Case {
        name: "python_poll_each_5_s",
        needs: &["python3"],
        words: &[
            "python3",
            "-c",
            "
import time
end = time.monotonic() + 1800; n = 0
while time.monotonic() < end: time.sleep(5); n += 1
print(n)",
        ],
        code: 0,
        nanos: 1_800 * SECOND,
        output: "360\n",
    },
    Case {
        name: "node_timers",
        needs: &["node"],
        words: &[
            "node",
            "-e",
            "const a = process.hrtime.bigint(), d = Date.now();
             setTimeout(() => console.log(Number((process.hrtime.bigint() - a) / 1000000n), Date.now() - d), 4 * 3600e3);
             let n = 0; const i = setInterval(() => { if (++n == 10) clearInterval(i) }, 60e3);",
        ],
        code: 0,
        nanos: 14_400 * SECOND,
        output: "14400000 14400000\n",
    },
    Case {
        name: "node_spawn_sync_with_a_limit",
        needs: &["node"],
        words: &[
            "node",
            "-e",
            "const d = Date.now();
             const r = require('child_process').spawnSync('sleep', ['100000'], { timeout: 1800e3 });
             console.log(r.signal, r.error.code, Date.now() - d);",
        ],
        code: 0,
        nanos: 1_800 * SECOND,
        output: "SIGTERM ETIMEDOUT 1800000\n",
    },
    Case {
        name: "node_request_with_a_limit",
        needs: &["node"],
        words: &[
            "node",
            "-e",
            "const http = require('http'); const d = Date.now();
             const s = http.createServer((q, r) => r.write('part')); s.timeout = 0;
             s.listen(0, '127.0.0.1', () => {
               const q = http.get({ port: s.address().port, timeout: 300e3 }, r => r.resume());
               q.on('timeout', () => { console.log(Date.now() - d); q.destroy(); s.closeAllConnections(); s.close(); });
               q.on('error', () => {});
             });",
        ],
        code: 0,
        nanos: 300 * SECOND,
        output: "300000\n",
    },
];

pub fn trials() -> Vec<Trial> {
    let trial = |case: &'static Case| {
        Trial::test(format!("commands::{}", case.name), move || {
            if let Some(missing) = case.needs.iter().find(|name| !has(name)) {
                eprintln!("{}: left out, because {missing} is not installed", case.name);
                return Ok(());
            }
            let ran = run(command(case.words));
            let code = match ran.ending.verdict {
                Verdict::Exited { code } => code,
                Verdict::Signalled { signal } => 128 + signal,
                ref other => panic!("{other:?}\n{}", ran.output),
            };
            assert_eq!((code, ran.output.as_str(), ran.nanos()), (case.code, case.output, case.nanos));
            assert!(ran.ending.repeatable);
            Ok(())
        })
    };
    CASES.iter().map(trial).collect()
}
