"""Makes small programs at random whose truth follows from how they are made.

A program is put together from leaves and from ways to wait. A leaf ends by itself after SECS seconds, or never does. Each
way to wait keeps the truth of its part, or gives it an end: a time limit, or a job that kills it. A program with a part
that never ends, and without such an end, is hung. Parts are files of their own: a shell's, Python's or node's. Each leaf
makes a file before it waits, so that the case is ready when its first leaves are there.
"""
import random

# Leaves that end: kind of file, and its text; `{at}` is the file that it makes first.
ENDS = [
    ('sh', ': >{at}; sleep "$SECS"; exit 0'),
    ('sh', 'mkfifo {at}.f; exec 3<>{at}.f; : >{at}; read -t "$SECS" x <&3; exit 0'),
    ('sh', 'mkfifo {at}.f; (sleep "$SECS"; echo x >{at}.f) & : >{at}; read x <{at}.f; wait; exit 0'),
    ('sh', '(sleep "$SECS"; : >{at}.done) & : >{at}; until [ -e {at}.done ]; do sleep 1; done; wait; exit 0'),
    ('sh', '(exec 9>{at}.lock; flock 9; : >{at}; sleep "$SECS") & until [ -e {at} ]; do sleep .05; done; flock {at}.lock true; exit 0'),
    ('sh', ': >{at}; timeout "$SECS" sh -c "mkfifo {at}.f; exec 3<>{at}.f; cat <&3; exit 0"; exit 0'),
    ('py', 'import os, time\nopen("{at}", "w").close(); time.sleep(float(os.environ["SECS"]))'),
    ('py', 'import math, os, signal\nr, w = os.pipe(); signal.signal(14, lambda *_: os.write(w, b"x")); signal.alarm(math.ceil(float(os.environ["SECS"])))\n'
           'open("{at}", "w").close(); os.read(r, 1)'),
    ('py', 'import os, threading, time\nlock = threading.Semaphore(0)\ndef work(): time.sleep(float(os.environ["SECS"])); lock.release()\n'
           'threading.Thread(target=work).start(); open("{at}", "w").close(); lock.acquire()'),
    ('py', 'import os, socket, time\na, b = socket.socketpair()\nif os.fork() == 0:\n    a.close(); b.recv(1); time.sleep(float(os.environ["SECS"])); b.send(b"x"); os._exit(0)\n'
           'b.close(); a.send(b"x"); open("{at}", "w").close(); a.recv(1); os.wait()'),
    ('py', 'import os, select, time\nend = time.monotonic() + float(os.environ["SECS"]); r, w = os.pipe(); open("{at}", "w").close()\n'
           'while (left := end - time.monotonic()) > 0: select.select([r], [], [], min(left, 1))'),
    ('js', 'require("fs").writeFileSync("{at}", ""); setTimeout(() => {}, process.env.SECS * 1000)'),
    ('js', 'const s = require("net").createServer(c => c.once("data", () => setTimeout(() => { c.end("x"); s.close(); }, process.env.SECS * 1000)));\n'
           's.listen("{at}.s", () => { const c = require("net").connect("{at}.s", () => c.write("x")); c.on("data", () => {}); require("fs").writeFileSync("{at}", ""); });'),
]
# Leaves that never end, with what must be said of them.
NEVER = [
    ('sh', 'mkfifo {at}.f; exec 3<>{at}.f; : >{at}; cat <&3; exit 0', 'fifo'),
    ('sh', 'mkfifo {at}.f; : >{at}; cat {at}.f; exit 0', 'fifo'),
    ('sh', 'exec 9>{at}.lock; flock 9; : >{at}; flock {at}.lock true; exit 0', 'lock'),
    ('py', 'import os\nr, w = os.pipe(); open("{at}", "w").close(); os.read(r, 1)', 'pipe'),
    ('py', 'import os, signal\nopen("{at}", "w").close(); os.kill(os.getpid(), signal.SIGSTOP)', 'stop'),
    ('py', 'import threading\nlock = threading.Lock(); lock.acquire(); open("{at}", "w").close(); lock.acquire()', 'lock|futex|thread|itself'),
    ('py', 'import os, socket\na, b = socket.socketpair()\nif os.fork() == 0: a.close(); b.recv(1); os._exit(0)\n'
           'b.close(); open("{at}", "w").close(); a.recv(1)', 'each other'),
    ('py', 'import subprocess, sys\nopen("{at}", "w").close(); p = subprocess.Popen([sys.executable, "-c", "print(\'x\' * 200000)"], stdout=-1); p.wait()', 'pipe|full|output'),
]
# Ways to wait for a part, which end when it does.
WAITS = [
    ('sh', '{part}; exit 0'),
    ('sh', '{part} & wait $!; exit 0'),
    ('sh', '{part} | cat; exit 0'),
    ('sh', 'x=$({part}); exit 0'),
    ('sh', '({part}) >{name}.out 2>&1; exit 0'),
    ('sh', 'coproc {part}; wait $COPROC_PID; exit 0'),
    ('sh', '{part} & p=$!; wait -n $p; exit 0'),
    ('py', 'import subprocess\nsubprocess.run({words})'),
    ('py', 'import subprocess\nsubprocess.run({words}, stdout=-1, stderr=-1, stdin=subprocess.DEVNULL)'),
    ('py', 'import asyncio\nasync def main(): p = await asyncio.create_subprocess_exec(*{words}, stdout=-1); await p.communicate()\nasyncio.run(main())'),
    ('py', 'import os\npid = os.fork()\nif pid == 0: os.execvp({words}[0], {words})\nos.waitpid(pid, 0)'),
    ('py', 'import subprocess, threading\nt = threading.Thread(target=subprocess.run, args=({words},)); t.start(); t.join()'),
    ('js', 'const p = require("child_process").spawn({words}[0], {words}.slice(1), {{ stdio: ["ignore", "pipe", "pipe"] }}); p.stdout.on("data", () => {{}}); p.stderr.on("data", () => {{}});'),
    ('js', 'require("child_process").spawnSync({words}[0], {words}.slice(1));'),
]
# Ways that give a part an end.
LIMITS = [
    ('sh', 'timeout "$SECS" {part}; exit 0'),
    ('sh', 'timeout -k 5 "$SECS" {part} | cat; exit 0'),
    ('sh', 'setsid {part} & p=$!; sleep "$SECS"; kill -CONT -- -$p; kill -KILL -- -$p; wait; exit 0'),
    ('py', 'import os, signal, subprocess\np = subprocess.Popen({words}, start_new_session=True)\ntry: p.wait(float(os.environ["SECS"]))\n'
           'except subprocess.TimeoutExpired: os.killpg(p.pid, signal.SIGKILL); p.wait()'),
    ('py', 'import os, signal, subprocess, threading\np = subprocess.Popen({words}, start_new_session=True)\n'
           'threading.Timer(float(os.environ["SECS"]), os.killpg, (p.pid, signal.SIGKILL)).start(); p.wait()'),
    ('js', 'const p = require("child_process").spawn({words}[0], {words}.slice(1), {{ stdio: "ignore", detached: true }}); '
           'const t = setTimeout(() => process.kill(-p.pid, "SIGKILL"), process.env.SECS * 1000); p.on("exit", () => clearTimeout(t));'),
]
INTERPRETERS = {'sh': 'bash', 'py': 'python3', 'js': 'node'}


class Program:
    """The files of one program, made from its leaves upwards."""

    def __init__(self, rng):
        self.rng, self.files, self.first, self.cause = rng, {}, [], None

    def add(self, kind, text):
        name = f'{len(self.files)}.{kind}'
        self.files[name] = text.replace('{name}', name)
        return [INTERPRETERS[kind], name]

    def leaf(self, ends):
        at = f'at{len(self.files)}'
        kind, text, *cause = self.rng.choice(ENDS if ends else NEVER)
        self.first.append(at)
        self.cause = cause[0] if cause else self.cause
        return self.add(kind, text.replace('{at}', at))

    def around(self, ways, words):
        kind, text = self.rng.choice(ways)
        return self.add(kind, text.format(part=' '.join(words), words=repr(words), name='{name}'))

    def part(self, depth, ends):
        """A program of some depth that ends by itself, or does not."""
        if depth == 0:
            return self.leaf(ends)
        if ends and self.rng.random() < .3:
            return self.around(LIMITS, self.part(depth - 1, False))
        if ends and self.rng.random() < .2:
            one, two = self.part(depth - 1, True), self.part(depth - 1, True)
            return self.add('sh', f'{" ".join(one)} & {" ".join(two)} & wait; exit 0')
        return self.around(WAITS, self.part(depth - 1, ends))


CASE = '''# truth: {truth}
# then: ends
# about: made at random, number {number} of seed {seed}
{more}import os
from lib import tree
for name, text in {files!r}.items():
    tree.write(name, text)
tree.show({words!r}, lambda pid: all(os.path.exists(os.path.join(tree.D, at)) for at in {first!r}))
'''


def write(folder, count, seed, lib):
    """Writes `count` cases into a folder; those of a seed are always the same, and a longer list begins with a shorter one."""
    (folder / 'lib').symlink_to(lib)
    for number in range(1, count + 1):
        rng = random.Random(f'{seed}:{number}')
        program, ends = Program(rng), rng.random() < .7
        words = program.part(rng.randrange(4), ends)
        more = '' if ends else f'# cause: {program.cause}\n# moves: a part of it may look again\n'
        if program.cause == 'fifo' and not ends:
            more += '# verdict: HUNG WAITING\n'
        needs = {INTERPRETERS[name.rpartition('.')[2]] for name in program.files} | {'flock', 'timeout', 'setsid'}
        text = CASE.format(truth='healthy' if ends else 'hung', number=number, seed=seed, files=program.files, words=words,
                           first=program.first, more=f'{more}# needs: {" ".join(sorted(needs))}\n')
        (folder / f'random-{seed}-{number:04}.py').write_text(text)
