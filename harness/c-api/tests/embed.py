"""The Python module against real processes: one that hangs, one under guard, and none. Run by `languages.rs`."""

import os
import signal
import subprocess
import sys
import threading

import rehang
from rehang import Do, State, Stdin

HUNG = int(sys.argv[1])

# it hangs once both of its processes wait: nothing here depends on how soon
while (why := rehang.why(HUNG, window_s=0.05)).state is not State.CANNOT_GO_ON:
    assert why.verdict != "ended", why
assert (why.verdict, why.signature, why.sure, why.proved) == ("hung", "stdin-open", "certain", True), why
assert why.owes and why.owes.pid == HUNG and why.owes.name == f"bash ({HUNG})", why.owes
assert why.pid != HUNG and f"({why.pid})" in why.sentence and why.ends and why.because, why
assert why.for_s is not None and why.for_s >= 0.05 and why.out_of_sight == () and why.json["v"] == 1, why

for wrong, kind in [(2**31 - 1, rehang.NoProcess), (0, rehang.UsageError), (2**40, rehang.UsageError)]:
    try:
        rehang.why(wrong)
    except kind as error:
        assert isinstance(error, rehang.Error) and str(error)
    else:
        raise AssertionError(f"{wrong} has an answer")
for call in [
    lambda: rehang.why(HUNG, window_s=3600),
    lambda: rehang.Guard(HUNG, strategies=["gard"]),
    lambda: rehang.Guard(HUNG, agents=[""]),
]:
    try:
        call()
    except ValueError as error:
        assert isinstance(error, rehang.UsageError), error
    else:
        raise AssertionError("what is wrong was taken")


def guarded(process, stdin):
    """Runs guard around a process until it is settled; returns the states and the steps."""
    states, steps = [], []
    with rehang.Guard(process.pid, stdin=stdin, _pace=400) as guard:
        exited = False
        while True:
            answer = guard.ask()
            states.append(answer.state)
            for step in answer.steps:
                steps.append(step)
                step.carry_out(process.stdin)
            if answer.settled or exited:
                return states, steps, answer
            try:
                process.wait(answer.next_s)
                guard.exited(process.returncode)
                guard.output(b"")
                guard.output(b"", stderr=True)
                exited = True
            except subprocess.TimeoutExpired:
                pass


# a stdin that the host forgot: guard has it closed, and the process ends by itself
with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as forgotten:
    states, steps, answer = guarded(forgotten, Stdin.PIPE)
    assert [step.do for step in steps] == [Do.CLOSE_STDIN] and forgotten.returncode == 0, steps

# what never ends is ended with all that it has started
script = "sleep infinity & echo $!; exec sleep infinity"
with subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as endless:
    below = int(endless.stdout.readline())
    states, steps, answer = guarded(endless, Stdin.NULL)
    # the part first; then the run, since the one that should reap that part never does
    first, second = steps[:2]
    assert all(step.do is Do.SIGNAL and {*step.pids} <= {below, endless.pid} for step in steps), (steps, endless.pid, below)
    assert (first.signal, first.pids) == (signal.SIGTERM, (below,)), steps
    assert second.signal is signal.SIGTERM and second.pids[0] == endless.pid, steps
    assert endless.returncode == -signal.SIGTERM and states[0] is State.UNKNOWN, (endless.returncode, states)
    settled = answer.settled
    assert settled and (settled.by, settled.how, settled.cause) == ("guard-process", "stopped", "unreaped"), answer
    assert answer.next_s is None, answer

# the same in a thread: a run whose output somebody holds is over all the same, and output wakes it
for script, how, cause in [
    ("echo begun; exec sleep infinity", "stopped", "never-ends"),
    ("echo done; sleep infinity & exit 3", "failed", None),
]:
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sh", "-c", script], start_new_session=True, **streams) as run:
        guard, said, ends = rehang.Guard(run.pid, _pace=400), [], []
        thread = threading.Thread(target=lambda: ends.append(guard.follow(run.wait, say=said.append)))
        thread.start()
        guard.output(run.stdout.readline())
        thread.join()
        assert [(end.how, end.cause) for end in ends] == [(how, cause)], (script, ends)
        run.stdout.close()
        os.killpg(run.pid, signal.SIGKILL) if how == "failed" else None

# what speaks works, and nothing is done to it
with rehang.Guard(os.getpid()) as guard:
    guard.output(b"a line\n")
    answer = guard.ask()
    assert (answer.state, answer.why, answer.steps) == (State.WORKING, None, ()) and answer.next_s, answer
try:
    guard.ask()
except rehang.UsageError:
    print("ok")
