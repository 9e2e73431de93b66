#!/usr/bin/env python3
"""Starts real process trees whose truth is known, and asks rehang about them.

    REHANG=target/debug/rehang python3 tests/trees/run.py [-j N] [NAME…]

By default each case's tree is started and `rehang why` is asked several times: a hung tree must be called so, with its
cause, and a healthy one must never be called hung or closed in. `--supervise S` runs the tree under `rehang supervise`
for S seconds instead: a healthy one must live. `--verify` checks the cases themselves, without rehang. `--random N`
makes small programs whose truth follows from how they are made. README.md describes the cases' headers.

All times are limits that end a look at something that never comes; no result depends on being quick.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import random_trees  # noqa: E402: the folder stays free of compiled files

HERE = Path(__file__).resolve().parent
INTERPRETERS = {'.sh': ['bash'], '.py': [sys.executable], '.js': ['node']}
FIELDS = {'truth', 'verdict', 'cause', 'culprit', 'needs', 'brief', 'about', 'then', 'args', 'moves', 'if', 'certain', 'not', 'unseen',
          'later'}
# How long a case may take to reach its state, a hung tree to be called so, and a healthy one to end; seconds.
READY, NAMED, END = 120, 75, 240
# How much virtual time a tree has, and how much real time for it in seconds.
UNTIL, WARP = '3h', 60
# How long a hung tree is looked at for the verdict HUNG where another one is right as well; seconds.
HUNG = 10
LOOKS = (0, 1, 4)
# The real python3 comes first, not a wrapper of it; what only root has on its path comes last.
PATH = ':'.join([os.path.dirname(os.path.realpath(sys.executable)), os.environ.get('PATH', ''), '/usr/sbin', '/sbin'])


class Case:
    """One file of a folder of cases, with the fields of its header."""

    def __init__(self, path):
        self.path, self.name, self.fields = path, path.stem, {}
        for line in path.read_text().splitlines():
            found = re.match(r'(?:#|//) (\w+): (.*)', line)
            if found and found[1] in FIELDS:
                self.fields[found[1]] = found[2].strip()
            elif line and not line.startswith(('#', '//')):
                break
        self.truth = self.fields.get('truth')

    def faults(self):
        """What is wrong with the header."""
        if self.truth not in ('healthy', 'hung', 'waiting'):
            yield f'truth: {self.truth}'
        if 'about' not in self.fields:
            yield 'about is missing'
        if self.truth == 'hung' and 'cause' not in self.fields:
            yield 'cause is missing'
        if self.truth != 'hung' and 'then' not in self.fields:
            yield 'then is missing'
        if self.truth != 'hung' and 'HUNG' in self.fields.get('verdict', ''):
            yield 'HUNG is allowed of a tree that is not hung'
        if 'cause' in self.fields:
            re.compile(self.fields['cause'])
        if 'later' in self.fields and not re.match(r'\d+ \S', self.fields['later']):
            yield 'later has no minutes, or no reason'

    def verdicts(self):
        """The verdicts that are right; None for any but HUNG."""
        words = self.fields.get('verdict', 'HUNG' if self.truth == 'hung' else '').split()
        return set(words) or None

    def is_later(self, verdict, hung_in_ms):
        """Whether WAITING is right of a hung tree, since it counts as hung within the minutes that its header allows."""
        most = int(self.fields.get('later', '0').split()[0]) * 60_000
        return verdict == 'WAITING' and 0 < (hung_in_ms or 0) <= most

    def missing(self):
        """What the case needs and this machine does not have."""
        lacks = [word for word in self.fields.get('needs', '').split() if not has(word)]
        if not lacks and 'if' in self.fields:
            code = subprocess.run(['bash', '-c', self.fields['if']], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            lacks = [] if code == 0 else [self.fields['if']]
        return lacks

    def command(self):
        return INTERPRETERS[self.path.suffix] + [str(self.path)]


def has(word):
    """Whether a program is installed; `root` is the right to be root, `/path` a file."""
    if word == 'root':
        return os.geteuid() == 0
    if word.startswith('/'):
        return os.path.exists(word)
    return shutil.which(word, path=PATH) is not None


def stat(pid):
    """A process's parent, session, whether it is over, ticks of processor time and start; None if it has ended."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as f:
            words = f.read().rpartition(b') ')[2].split()
    except OSError:
        return None
    # A first thread that has ended is a zombie too; the process is over when no other thread of it is left.
    over = words[0] in b'ZX' and int(words[17]) <= 1
    return {'over': over, 'parent': int(words[1]), 'session': int(words[3]),
            'ticks': sum(map(int, words[11:15])), 'start': int(words[19])}


def processes():
    found = {}
    for word in os.listdir('/proc'):
        if word.isdigit() and (is_ := stat(int(word))):
            found[int(word)] = is_
    return found


def marked(pid, mark):
    try:
        with open(f'/proc/{pid}/environ', 'rb') as f:
            return mark in f.read().split(b'\0')
    except OSError:
        return False


def read_end(pid):
    """Whether a process is over: gone, or a zombie."""
    is_ = stat(pid)
    return is_ is None or is_['over']


class Tree:
    """A started case. Everything below it carries a mark in its environment, or is below or in a session of one that does."""

    def __init__(self, case, prefix=(), agent=False, **env):
        self.case = case
        if agent:
            prefix = ('bash', '-c', 'exec -a claude node "$@"', 'bash', str(HERE / 'cases' / 'lib' / 'agent.js'), '-p', 'go')
            tool = {'cmd': case.command(), 'stdio': ['ignore', 'inherit', 'inherit']}
            env['DO'] = json.dumps({'tools': [tool], 'end': True})
        self.folder = Path(tempfile.mkdtemp(prefix='tree-'))
        self.mark = f'TREE_MARK={self.folder.name}'.encode()
        self.known = {}
        env = {**os.environ, 'TREE_DIR': str(self.folder), 'TREE_MARK': self.folder.name, 'LC_ALL': 'C.UTF-8',
               'PYTHONDONTWRITEBYTECODE': '1', 'PATH': PATH, **env}
        env.pop('REHANG', None)
        with open(self.folder / 'stdout', 'wb') as out, open(self.folder / 'stderr', 'wb') as errors:
            self.run = subprocess.Popen([*prefix] if agent else [*prefix, *case.command()], stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                                        env=env, cwd=self.folder, start_new_session=True)

    def output(self, name):
        try:
            return (self.folder / name).read_text(errors='replace')
        except OSError:
            return ''

    def wait_ready(self, limit=READY):
        """The process to ask about, or None if the case never got there."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = re.search(r'^ready (\d+)', self.output('stdout'), re.M)
            if found:
                self.members()
                return int(found[1])
            if self.run.poll() is not None:
                return None
            time.sleep(.05)
        return None

    def members(self):
        """The processes of the tree that are there now, by number with their start."""
        every = processes()
        mine = {pid for pid, is_ in every.items() if self.known.get(pid) == is_['start'] or marked(pid, self.mark)}
        if self.run.poll() is None:
            mine.add(self.run.pid)
        sessions = {every[pid]['session'] for pid in mine if pid in every and every[pid]['session'] in mine} | {self.run.pid}
        more = True
        while more:
            more = {pid for pid, is_ in every.items() if pid not in mine and (is_['parent'] in mine or is_['session'] in sessions)}
            mine |= more
        mine -= {os.getpid(), 1}
        self.known.update({pid: every[pid]['start'] for pid in mine if pid in every})
        return {pid: every[pid] for pid in mine if pid in every}

    def movement(self):
        """What grows when any process of the tree runs."""
        found = {}
        for pid, is_ in self.members().items():
            if is_['over']:
                continue
            switches = 0
            try:
                for task in os.listdir(f'/proc/{pid}/task'):
                    with open(f'/proc/{pid}/task/{task}/status') as f:
                        switches += sum(int(n) for n in re.findall(r'ctxt_switches:\s+(\d+)', f.read()))
            except OSError:
                pass
            found[pid] = (switches, is_['ticks'])
        return found

    def end(self):
        """Ends every process of the tree by its handle, looks again until none is left, and removes its folder."""
        clean = self.folder / 'cleanup'
        for round_ in range(200):
            if round_ in (0, 40) and clean.exists():
                subprocess.run(['bash', str(clean)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)
            left = [pid for pid, is_ in self.members().items() if not is_['over']]
            self.run.poll()
            if not left:
                break
            for pid in left:
                try:
                    handle = os.pidfd_open(pid)
                except OSError:
                    continue
                try:
                    is_ = stat(pid)
                    if is_ and is_['start'] == self.known.get(pid):
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                        signal.pidfd_send_signal(handle, signal.SIGCONT)
                except OSError:
                    pass
                finally:
                    os.close(handle)
            time.sleep(.02 if round_ < 20 else .2)
        else:
            print(f'{self.case.name}: left behind: {left}', file=sys.stderr)
        if clean.exists():
            subprocess.run(['bash', str(clean)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)
        self.run.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Result:
    """What became of one case: a kind (passed, failed, skipped), a word on it, and of a failure its class."""

    def __init__(self, case, kind, text='', fault=None, said=None):
        self.case, self.kind, self.text, self.fault, self.said = case, kind, text, fault, said
        self.retried = 0
        # of a hung tree: whether the cause and the culprit were named, and whether it was called HUNG in the time for that
        self.named = self.is_hung = False
        # and after how many milliseconds it counts as hung, where it was not
        self.hung_in_ms = None
        # what was said in virtual time, and what became of each process
        self.looks = []


def ask(rehang, pid, args):
    """One answer of `rehang why`: its object, or a word on why there is none."""
    try:
        run = subprocess.run([rehang, 'why', str(pid), '--json', *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=90)
    except subprocess.TimeoutExpired:
        return None, 'no answer in 90 s'
    try:
        return json.loads(run.stdout.decode(errors='replace').splitlines()[0]), None
    except (ValueError, IndexError):
        return None, f'exit code {run.returncode}: {run.stderr.decode(errors="replace").strip()[-200:]}'


def reading(answer):
    """Of an answer: the verdict, its certainty, its text, and who is said to be closed in."""
    is_ = answer.get('diagnosis') or answer
    text = ' | '.join(str(is_.get(key) or '') for key in ('sentence', 'ends', 'because', 'signature', 'mechanism'))
    closed = (answer.get('graph') or {}).get('closed') or []
    return str(is_.get('verdict', '')).upper(), str(is_.get('sure') or ''), text, closed


def short(verdict, sure, text, closed):
    return f'{verdict}{" " + sure if sure else ""}{" CLOSED" if closed else ""} {text}'[:400]


def judge_why(case, options):
    tree = Tree(case, agent=options.agent)
    try:
        pid = tree.wait_ready()
        if pid is None:
            return Result(case, 'failed', f'never ready: {tree.output("stderr").strip()[-300:]}', 'case')
        pid = tree.run.pid if options.agent else pid
        if case.truth == 'hung':
            return judge_hung(case, options, pid)
        return judge_healthy(case, options, pid, tree)
    finally:
        tree.end()


def judge_healthy(case, options, pid, tree):
    began, said = time.monotonic(), []
    for look in options.looks:
        time.sleep(max(0, began + look - time.monotonic()))
        answer, fault = ask(options.rehang, pid, options.args)
        if answer is None:
            if read_end(pid) and ('brief' in case.fields or said):
                break
            return Result(case, 'failed', fault, 'error', said[-1] if said else None)
        verdict, sure, text, closed = reading(answer)
        said.append(short(verdict, sure, text, closed))
        if verdict == 'HUNG' and not ('unseen' in case.fields and sure not in ('certain', 'proved')):
            fault = 'false certain' if sure == 'certain' or sure == 'proved' or closed else 'false HUNG'
            return Result(case, 'failed', said[-1], fault, said[-1])
        if 'unseen' not in case.fields and (closed or 'nothing can end it' in text):
            return Result(case, 'failed', said[-1], 'false certain', said[-1])
        if read_end(pid):
            break
        if case.verdicts() and verdict not in case.verdicts():
            return Result(case, 'failed', f'{said[-1]}: not {case.fields["verdict"]}', 'wrong verdict', said[-1])
    return Result(case, 'passed', said=said[-1] if said else 'ended')


def judge_hung(case, options, pid):
    began, passed = time.monotonic(), None
    named, hung_in_ms = False, None
    args = [*options.args, *shlex.split(case.fields.get('args', ''))]

    def result(*words, is_hung=False):
        found = Result(case, *words)
        found.named, found.is_hung, found.hung_in_ms = named, is_hung, hung_in_ms
        return found

    while True:
        answer, fault = ask(options.rehang, pid, args)
        said = None
        if answer is None:
            why, kind = fault, 'error'
        else:
            verdict, sure, text, closed = reading(answer)
            said = short(verdict, sure, text, closed)
            hung_in_ms = (answer.get('diagnosis') or answer).get('hung_in_ms')
            cause = re.search(case.fields['cause'], text, re.I)
            culprit = case.fields.get('culprit')
            named = bool(cause and verdict in case.verdicts() | {'WAITING'} and not ('not' in case.fields and re.search(case.fields['not'], text))
                         and (not culprit or re.search(culprit, text)))
            if 'certain' in case.fields and (closed or verdict == 'HUNG' and sure in ('certain', 'proved')):
                return result('failed', said, 'false certain', said)
            if verdict not in case.verdicts() and not case.is_later(verdict, hung_in_ms):
                why, kind = f'{said}: not {" ".join(sorted(case.verdicts()))}', 'missed'
            elif not cause:
                why, kind = f'{said}: not /{case.fields["cause"]}/', 'missed cause'
            elif 'not' in case.fields and re.search(case.fields['not'], text):
                why, kind = f'{said}: /{case.fields["not"]}/', 'missed cause'
            elif culprit and not re.search(culprit, text):
                why, kind = f'{said}: no word of {culprit}', 'missed culprit'
            elif verdict == 'HUNG':
                return result('passed', '', None, said, is_hung=True)
            else:
                # another verdict is right too: whether it is called HUNG in that time is counted
                passed = result('passed', '', None, said)
        lasted = time.monotonic() - began
        if passed and lasted > min(options.named, HUNG):
            return passed
        if not passed and lasted > options.named:
            return result('failed', why, kind, said)
        if read_end(pid):
            return passed or result('failed', f'it has ended; {why}', 'case', said)
        time.sleep(3)


def judge_supervise(case, options):
    """Under the default supervise a healthy tree lives as long as it is watched; a hung one may be ended."""
    tree = Tree(case, (options.rehang, 'supervise', '--'))
    try:
        end, began = time.monotonic() + options.supervise, time.monotonic()
        while time.monotonic() < end and tree.run.poll() is None:
            time.sleep(.5)
        code, ready = tree.run.poll(), re.search(r'^ready ', tree.output('stdout'), re.M)
        last = ' / '.join(tree.output('stderr').strip().splitlines()[-3:])[-400:]
        if not ready and code is None:
            return Result(case, 'failed', f'never ready; {last}', 'case')
        if code is None:
            return Result(case, 'passed', said='alive')
        said = f'exit code {code} after {time.monotonic() - began:.0f} s; {last}'
        if case.truth == 'hung':
            return Result(case, 'passed', said=said) if ready else Result(case, 'failed', said, 'case')
        own = int(case.fields.get('then', 'ends').split()[1]) if re.match(r'ends \d', case.fields.get('then', '')) else 0
        if ready and code == own and 'brief' in case.fields:
            return Result(case, 'passed', said=said)
        return Result(case, 'failed', said, 'ended a healthy run' if ready else 'case', said)
    finally:
        tree.end()


def in_virtual_time(case, options, more=(), prefix=()):
    """How a tree's run in virtual time ends (None: it does not), and what it and the prefix said on stdout and stderr."""
    with tempfile.NamedTemporaryFile(suffix='.json') as report:
        warp = (options.rehang, 'warp', *more, '--until', UNTIL, '--within', f'{WARP}s', '--json', report.name, '--')
        tree = Tree(case, (*warp, *prefix))
        try:
            tree.run.wait(WARP + END)
            end = json.loads(Path(report.name).read_text())
        except (subprocess.TimeoutExpired, ValueError):
            end = None
        finally:
            out, errors = tree.output('stdout'), tree.output('stderr')
            tree.end()
    return end, out, errors


def judge_warp(case, options):
    """In virtual time every process of the tree is looked at again and again; how the run ends says which looks were true."""
    end, out, errors = in_virtual_time(case, options, ['--looks', str(options.warp)])
    ready = re.search(r'^ready (\d+)', out, re.M)
    last = ' / '.join(errors.strip().splitlines()[-3:])[-400:]
    if end is None:
        return Result(case, 'failed', f'rehang warp does not end: {last}', 'error')
    looks = end['looks']
    tell = lambda look: f'{look["at_seconds"]:.0f} s: {look["program"]}: {look["verdict"].upper()} {look["sure"]}: {look["sentence"]}'  # noqa: E731
    false = [look for look in looks if look['is_false']]
    proved = [look for look in looks if look['truth'] == 'hung' and look['by'] == 'why' and ready and look['pid'] == int(ready[1])]
    said = f'{end["verdict"]} at {end["virtual_seconds"]:.0f} s'
    if not ready:
        result = Result(case, 'failed', f'never ready in virtual time: {said}; {last}', 'not fit')
    elif false and 'unseen' not in case.fields:
        result = Result(case, 'failed', f'{said}; {len(false)} false: {tell(false[0])}', 'false HUNG')
    elif case.truth == 'healthy' and case.fields.get('then', '').startswith('ends') and end['verdict'] != 'exited':
        result = Result(case, 'failed', f'{said}; {last}', 'not fit')
    elif case.truth == 'hung' and end['verdict'] == 'exited' or case.truth == 'healthy' and end['verdict'] == 'deadlock':
        result = Result(case, 'failed', f'{said}; {last}', 'not fit')
    elif case.truth == 'hung' and proved and proved[-1]['verdict'].upper() not in case.verdicts():
        result = Result(case, 'failed', f'{said}, proved; {tell(proved[-1])}', 'missed')
    else:
        result = Result(case, 'passed', said=f'{said}, {len(looks)} looks')
        result.is_hung = bool(proved)
    result.looks = looks
    return result


def judge_guarded(case, options):
    """In virtual time the default supervise has three hours: a healthy tree ends by itself in it, or lives to the last."""
    end, out, errors = in_virtual_time(case, options, ['--quiet'], (options.rehang, 'supervise', '--'))
    acts = [line for line in errors.splitlines() if line.startswith('rehang: ')]
    if end is None:
        return Result(case, 'failed', f'rehang warp does not end: {acts}', 'error')
    said = f'{end["verdict"]}{" " + str(end["code"]) if "code" in end else ""} at {end["virtual_seconds"]:.0f} s {" ".join(acts[-1:])}'.strip()
    if not re.search(r'^ready ', out, re.M) or end['verdict'] not in ('exited', 'horizon'):
        return Result(case, 'failed', said, 'not fit')
    # what is over and has left something behind is only reported
    is_ended = any(line.startswith(('rehang: ended ', 'rehang: ends ')) for line in acts)
    if case.truth != 'healthy' or not is_ended:
        return Result(case, 'passed', said=said)
    alone, _, _ = in_virtual_time(case, options)
    if alone is None or alone['verdict'] != 'exited':
        return Result(case, 'failed', f'does not end in virtual time; {said}', 'not fit')
    return Result(case, 'failed', said, 'ended a healthy run', said)


def judge_case(case, options):
    """Checks a case itself: it gets ready; a hung tree does not move, and a healthy one ends when its event comes."""
    then = case.fields.get('then', '')
    tree = Tree(case, SECS='2' if then.startswith('ends') else '900')
    try:
        pid = tree.wait_ready()
        if pid is None:
            return Result(case, 'failed', f'never ready: {tree.output("stderr").strip()[-300:]}', 'case')
        if case.truth == 'hung':
            return verify_hung(case, tree, pid, options)
        if then.startswith('moves'):
            before = tree.movement()
            for _ in range(600):
                now = tree.movement()
                if any(now[p] > before[p] for p in before if p in now):
                    return Result(case, 'passed')
                time.sleep(.1)
            return Result(case, 'failed', 'does not move', 'case')
        if then.startswith('types '):
            with socket.socket(socket.AF_UNIX) as person:
                person.connect(str(tree.folder / 'keyboard'))
                person.sendall(then[6:].encode().decode('unicode_escape').encode())
        elif then.startswith('run '):
            env = {**os.environ, 'D': str(tree.folder), 'PID': str(pid)}
            subprocess.run(['bash', '-c', then[4:]], env=env, cwd=tree.folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        elif not then.startswith('ends'):
            return Result(case, 'failed', f'then: {then}', 'case')
        return verify_end(case, tree, pid, then)
    finally:
        tree.end()


def verify_end(case, tree, pid, then):
    end = time.monotonic() + END
    while time.monotonic() < end:
        if then.startswith('ends'):
            code = tree.run.poll()
            if code is not None:
                own = int((then.split() + ['0'])[1])
                text = f'exit code {code}, not {own}: {tree.output("stderr").strip()[-200:]}'
                return Result(case, 'passed') if code == own else Result(case, 'failed', text, 'case')
        elif read_end(pid):
            return Result(case, 'passed')
        time.sleep(.05)
    return Result(case, 'failed', f'did not end: {then}', 'case')


def verify_hung(case, tree, pid, options):
    """A hung tree that does not poll or spin is the same after some seconds: no thread of it has run."""
    before = None
    for _ in range(20):
        now = tree.movement()
        if before == now:
            break
        before = now
        time.sleep(1)
    time.sleep(options.still)
    if read_end(pid):
        return Result(case, 'failed', 'it has ended', 'case')
    after = tree.movement()
    moved = [p for p in before if before[p] != after.get(p)]
    if moved and 'moves' not in case.fields:
        return Result(case, 'failed', f'{moved} moved: {[(before[p], after.get(p)) for p in moved]}', 'case')
    return Result(case, 'passed')


def attempt(judge, case, options):
    """One try; a fault of the runner itself is a failure of the case, with its words."""
    try:
        return judge(case, options)
    except Exception as fault:  # noqa: BLE001: whatever goes wrong, the other cases are run
        return Result(case, 'failed', f'{type(fault).__name__}: {fault}', 'case')


def run_all(cases, options, judge):
    results, again = [], []
    todo = []
    for case in cases:
        lacks = case.missing()
        if lacks:
            results.append(report(Result(case, 'skipped', f'needs {" ".join(lacks)}')))
        else:
            todo.append(case)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda case: attempt(judge, case, options), todo):
            # What rehang has said of a healthy tree stands; what may be the machine's fault is tried again on its own.
            final = result.kind == 'passed' or result.fault in ('false HUNG', 'false certain', 'ended a healthy run')
            (results if final or options.retries == 0 else again).append(result)
            if final or options.retries == 0:
                report(result)
    for result in again:
        for n in range(1, options.retries + 1):
            result = attempt(judge, result.case, options)
            result.retried = n
            if result.kind == 'passed':
                break
        results.append(report(result))
    return results


def report(result):
    kind = result.kind + (f' ({result.fault})' if result.fault else '')
    again = f', retried {result.retried}' if result.retried else ''
    print(f'{kind}{again}: {result.case.name}: {result.text or result.said or ""}'.rstrip(': '), flush=True)
    return result


def close(results, options):
    """The last lines, and the exit code."""
    if options.record:
        with open(options.record, 'w') as f:
            for result in sorted(results, key=lambda r: r.case.name):
                fault = result.fault or result.kind
                f.write(f'{result.case.name}\t{result.case.truth}\t{fault}\t{result.said or result.text}\n')
    failed = [r for r in results if r.kind == 'failed']
    for fault in ('false HUNG', 'false certain', 'ended a healthy run', 'missed', 'missed cause', 'missed culprit',
                  'wrong verdict', 'error', 'case', 'not fit'):
        names = sorted(r.case.name for r in failed if r.fault == fault)
        if names:
            print(f'{fault}: {len(names)}: {" ".join(names)}')
    retried = [r.case.name for r in results if r.retried]
    if retried:
        print(f'retried: {len(retried)}: {" ".join(retried)}')
    hung = [r for r in results if r.case.truth == 'hung' and r.kind != 'skipped']
    looks = [look for r in results for look in r.looks]
    if options.warp is not None:
        of = lambda truth: [look for look in looks if look['truth'] == truth]  # noqa: E731
        named = sum(look['verdict'] == 'hung' for look in of('hung'))
        print(f'{len(looks)} looks; of processes that ended by themselves {len(of("ended-by-itself"))}, '
              f'{sum(look["is_false"] for look in looks)} of them called HUNG; of proved hangs {len(of("hung"))}, {named} called so')
        trees = [r for r in results if r.case.truth == 'hung' and r.kind == 'passed']
        print(f'of {len(trees)} hung trees that passed, {sum(r.is_hung for r in trees)} are proved deadlocks')
    if hung and not options.verify and not options.supervise and not options.guarded and options.warp is None:
        share = lambda n: f'{n} of {len(hung)} ({100 * n / len(hung):.0f} %)'  # noqa: E731
        print(f'the cause of the hang named: {share(sum(r.named for r in hung))}')
        print(f'called HUNG within {options.named:.0f} s: {share(sum(r.is_hung for r in hung))}')
        for r in sorted((r for r in hung if r.named and not r.is_hung), key=lambda r: r.case.name):
            later = f'counts as hung after {r.hung_in_ms / 60000:.0f} min more' if r.hung_in_ms else 'for as long as it lasts'
            print(f"  named, not called HUNG: {r.case.name}: {(r.said or '-').split()[0]}, {later}")
    count = {kind: sum(r.kind == kind for r in results) for kind in ('passed', 'failed', 'skipped')}
    print(', '.join(f'{number} {kind}' for kind, number in count.items()))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help='cases whose name begins so')
    parser.add_argument('-j', '--jobs', type=int, default=2)
    parser.add_argument('--cases', type=lambda text: Path(text).resolve(), default=HERE / 'cases', metavar='DIR')
    parser.add_argument('--truth', choices=('healthy', 'hung', 'waiting'), help='only these')
    parser.add_argument('--list', action='store_true', help='only list the cases')
    parser.add_argument('--supervise', type=float, metavar='SECONDS')
    parser.add_argument('--agent', action='store_true', help='start each tree as the tool of an agent, and ask about that')
    parser.add_argument('--warp', type=int, metavar='N', help='run each tree in virtual time, and look N times')
    parser.add_argument('--guarded', action='store_true', help='run each tree under `rehang supervise` in virtual time')
    parser.add_argument('--verify', action='store_true')
    parser.add_argument('--still', type=float, default=5, help='seconds for which a hung tree must not move')
    parser.add_argument('--named', type=float, default=NAMED, help='seconds after which a hung tree must be named')
    parser.add_argument('--times', type=int, default=1, metavar='N', help='repeat everything')
    parser.add_argument('--looks', default=','.join(map(str, LOOKS)), help='seconds after ready at which to look')
    parser.add_argument('--args', default='', help='further arguments of `rehang why`')
    parser.add_argument('--retries', type=int, default=2)
    parser.add_argument('--record', metavar='FILE', help='write what was said of each case')
    parser.add_argument('--random', type=int, metavar='N', help='N small programs made at random')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    options.rehang = os.path.abspath(shutil.which(os.environ.get('REHANG', 'rehang')) or os.environ.get('REHANG', 'rehang'))
    options.args, options.looks = shlex.split(options.args), [float(w) for w in options.looks.split(',')]
    folder = None
    if options.random:
        folder = Path(tempfile.mkdtemp(prefix='trees-random-'))
        random_trees.write(folder, options.random, options.seed, options.cases / 'lib')
        options.cases = folder
    cases = [Case(p) for p in sorted(options.cases.iterdir()) if p.suffix in INTERPRETERS]
    if options.names:
        cases = [c for c in cases if any(c.name.startswith(n) for n in options.names)]
    cases = [c for c in cases if options.truth in (None, c.truth)]
    faults = [f'{c.name}: {fault}' for c in cases for fault in c.faults()]
    if faults or not cases:
        sys.exit('\n'.join(faults) or 'no case of that name')
    if options.list:
        for case in cases:
            print(f'{case.truth:8}{case.name}: {case.fields["about"]}')
        return 0
    if not options.verify and not has(options.rehang):
        sys.exit(f'no {options.rehang}: set REHANG')
    judge = (judge_case if options.verify else judge_guarded if options.guarded else judge_supervise if options.supervise else judge_warp if options.warp is not None else judge_why)
    try:
        results = [r for _ in range(options.times) for r in run_all(cases, options, judge)]
    finally:
        if folder:
            shutil.rmtree(folder)
    return close(results, options)


if __name__ == '__main__':
    sys.exit(main())
