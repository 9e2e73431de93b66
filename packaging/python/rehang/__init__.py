"""Why a process does not move, and guard around a process.

    >>> import rehang
    >>> why = rehang.why(4711)
    >>> why.state, why.sentence, why.ends

The answers are those of ``rehang why --json`` and ``rehang supervise``: the code that decides is Rust, in the library
beside this file. Linux only. The network is not used but for loopback, where an agent's own server is asked for its open
questions (``ask=False`` turns that off).
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal as _signal
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Callable, Optional, Sequence, Type

__all__ = [
    "Answer", "Do", "End", "Error", "Guard", "MachineError", "NoProcess", "Owes", "Plan", "State", "Stdin", "Step", "UsageError",
    "Why", "why",
]  # fmt: skip


class Error(Exception):
    """A call has no answer. This class itself: an error of rehang's own."""


class NoProcess(Error, ProcessLookupError):
    """There is no such process."""


class UsageError(Error, ValueError):
    """An argument is wrong."""


class MachineError(Error, OSError):
    """This machine does not let processes be read."""


class State(str, Enum):
    """What a process does."""

    WORKING = "working"
    WAITS_FOR_PERSON = "waits-for-person"
    WAITS_FOR_PEER = "waits-for-peer"
    CANNOT_GO_ON = "cannot-go-on"
    UNKNOWN = "unknown"


class Stdin(str, Enum):
    """How a process's standard input is connected."""

    NULL = "null"
    PIPE = "pipe"
    CLOSED = "closed"
    TERMINAL = "terminal"
    INHERITED = "inherited"


@dataclass(frozen=True)
class Owes:
    """Who is to act next: a process, or somebody out of sight (``pid`` is None)."""

    pid: Optional[int]
    name: str


@dataclass(frozen=True)
class Why:
    """Why a process does not move, or that it does."""

    state: State
    owes: Optional[Owes]
    #: For at least how many seconds that has been so; None if it works, or if its state is not known.
    for_s: Optional[float]
    #: What is known, as a sentence; and why that is as sure as it is.
    sentence: str
    because: str
    #: ``certain``, ``likely`` or ``guess``.
    sure: str
    #: Nobody alive or out of sight can end the wait.
    proved: bool
    #: What could end a hang and cannot be seen.
    out_of_sight: Sequence[str]
    #: What would end it.
    ends: str
    #: ``hung``, ``waiting``, ``working``, ``ended`` or ``unknown``.
    verdict: str
    #: The name of the finding: ``rehang explain`` has a page of each.
    signature: str
    #: The process that this is about: the one that was asked about, or one below it.
    pid: int
    #: The processes of which the end alone would let the agent go on.
    parts: Sequence[int]
    #: After how many more seconds a wait counts as a hang.
    hung_in_s: Optional[float]
    #: All of it.
    json: "dict[str, Any]"


class Do(str, Enum):
    """What a step is."""

    SIGNAL = "signal"
    CLOSE_STDIN = "close-stdin"
    SAY = "say"


@dataclass(frozen=True)
class Step:
    """Something that is to be done now."""

    do: Do
    #: Of a signal: which one, and to which processes.
    signal: Optional[_signal.Signals] = None
    pids: Sequence[int] = ()
    #: Of ``SAY``: what the user is to be told.
    text: str = ""

    def carry_out(self, stdin: Optional[BinaryIO] = None) -> None:
        """Sends the signal, or closes ``stdin``, if that is a pipe to the process. ``SAY`` is left to the caller."""
        if self.do is Do.CLOSE_STDIN and stdin is not None:
            stdin.close()
        for pid in self.pids if self.signal is not None else ():
            try:
                os.kill(pid, self.signal)  # type: ignore[arg-type]
            except ProcessLookupError:
                pass  # it has ended meanwhile


@dataclass(frozen=True)
class Plan:
    """What will be done if nothing changes before then."""

    by: str
    #: ``end``, ``end-part``, ``close-stdin`` or ``take-as-over``.
    does: str
    cause: str
    text: str
    pid: Optional[int]
    in_s: float


@dataclass(frozen=True)
class End:
    """How a run has ended."""

    by: str
    #: ``completed``, ``stopped`` or ``failed``.
    how: str
    cause: Optional[str]
    text: str


@dataclass(frozen=True)
class Answer:
    """What a guarded process does, and what is to be done now."""

    state: State
    why: Optional[Why]
    steps: Sequence[Step]
    plan: Optional[Plan]
    settled: Optional[End]
    #: When to ask again at the latest, in seconds from now; None if there is nothing to wait for.
    next_s: Optional[float]


_ABI = 1
_ERRORS = {"no-process": NoProcess, "usage": UsageError, "machine": MachineError}


def _load() -> ctypes.CDLL:
    path = os.environ.get("REHANG_C_LIBRARY") or Path(__file__).with_name("librehang_c.so")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MachineError(f"the library of rehang cannot be loaded: {error}") from None
    text, guard, data = ctypes.c_char_p, ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_size_t]
    for name, result, arguments in [
        ("rehang_abi", ctypes.c_uint32, []),
        # as a bare address, which is freed later
        ("rehang_why", ctypes.c_void_p, [ctypes.c_int32, text]),
        ("rehang_guard_new", guard, [ctypes.c_int32, text, ctypes.POINTER(ctypes.c_void_p)]),
        ("rehang_guard_output", ctypes.c_int32, [guard, ctypes.c_int32, *data]),
        ("rehang_guard_wrote", ctypes.c_int32, [guard, *data]),
        ("rehang_guard_exited", ctypes.c_int32, [guard, ctypes.c_int32]),
        ("rehang_guard_ask", ctypes.c_void_p, [guard]),
        ("rehang_guard_free", None, [guard]),
        ("rehang_free", None, [ctypes.c_void_p]),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.rehang_abi() != _ABI:
        raise MachineError(f"{path} has another version than this module: install rehang again")
    return library


_library = _load()


def _taken(address: Optional[int]) -> "dict[str, Any]":
    """The object that a call has returned; its error as an exception."""
    if not address:
        raise MemoryError
    try:
        answer: "dict[str, Any]" = json.loads(ctypes.string_at(address))
    finally:
        _library.rehang_free(address)
    error = answer.get("error")
    if error is not None:
        raise _ERRORS.get(error["kind"], Error)(error["message"])
    return answer


def _pid(pid: int) -> int:
    if not 0 < pid < 2**31:
        raise UsageError(f"{pid} is no process id")
    return pid


def _s(ms: Optional[int]) -> Optional[float]:
    return None if ms is None else ms / 1000


def _why(of: "dict[str, Any]") -> Why:
    return Why(
        state=State(of["state"]),
        owes=of["owes"] and Owes(**of["owes"]),
        for_s=_s(of["for_ms"]),
        proved=of["closed_in"] and of["sure"] == "certain",
        out_of_sight=tuple(of.get("out_of_sight", ())),
        parts=tuple(of.get("parts", ())),
        hung_in_s=_s(of.get("hung_in_ms")),
        json=of,
        **{name: of[name] for name in ("sentence", "because", "sure", "ends", "verdict", "signature", "pid")},
    )


def _step(of: "dict[str, Any]") -> Step:
    signal = _signal.Signals[f"SIG{of['signal']}"] if "signal" in of else None
    return Step(Do(of["do"]), signal, tuple(of.get("pids", ())), of.get("text", ""))


def why(
    pid: int, *, agents: Sequence[str] = (), ask: bool = True, window_s: float = 1.0, silent_s: float = 60.0
) -> Why:
    """Says why a process does not move. Takes ``window_s``, the time between its two looks, and releases the GIL.

    :param agents: programs that count as agents, though rehang does not know them
    :param ask: whether agents' servers are asked on loopback, and agents' own records are read
    :param silent_s: how long a connection must bring no byte to count as silent
    """
    options = {"agents": list(agents), "ask": ask, "window_ms": round(window_s * 1000), "silent_ms": round(silent_s * 1000)}
    return _why(_taken(_library.rehang_why(_pid(pid), json.dumps(options).encode())))


class Guard:
    """Guard around a process that has just been started: tell it what you see, ask it what is to be done.

    It does nothing to the process by itself, and no call waits for the process. May be used by several threads, until it is
    closed.
    """

    def __init__(
        self,
        pid: int,
        *,
        strategies: Sequence[str] = ("guard",),
        stdin: Stdin = Stdin.NULL,
        one_stream: bool = False,
        agents: Sequence[str] = (),
        ask: bool = True,
        _pace: int = 1,
    ) -> None:
        self._guard: Optional[int] = None
        self._pid = pid
        # what wakes `follow`
        self._wakes: Optional[int] = None
        self._waking = threading.Lock()
        options = {
            "strategies": list(strategies), "stdin": Stdin(stdin).value, "one_stream": one_stream, "agents": list(agents),
            "ask": ask, "pace": _pace,
        }  # fmt: skip
        error = ctypes.c_void_p()
        self._guard = _library.rehang_guard_new(_pid(pid), json.dumps(options).encode(), ctypes.byref(error))
        if self._guard is None:
            _taken(error.value)

    def output(self, data: bytes, *, stderr: bool = False) -> None:
        """The process has written this; ``b""``, as ``read`` returns it, is the end of the stream."""
        self._tell(_library.rehang_guard_output, 2 if stderr else 1, data, len(data))

    def wrote(self, data: bytes) -> None:
        """You have written this to the process's standard input."""
        self._tell(_library.rehang_guard_wrote, data, len(data))

    def exited(self, returncode: int) -> None:
        """The process has ended, with this ``returncode`` of ``subprocess``."""
        self._tell(_library.rehang_guard_exited, returncode)

    def ask(self) -> Answer:
        """What the process does, and what is to be done now. Call it again after ``next_s`` at the latest."""
        of = _taken(_library.rehang_guard_ask(self._open()))
        plan = of["plan"]
        return Answer(
            state=State(of["state"]),
            why=of["why"] and _why(of["why"]),
            steps=tuple(map(_step, of["steps"])),
            plan=plan and Plan(in_s=plan.pop("in_ms") / 1000, **plan),
            settled=of["settled"] and End(**of["settled"]),
            next_s=_s(of["next_ms"]),
        )

    def follow(
        self,
        wait: "Callable[[], int]",
        *,
        close_stdin: "Optional[Callable[[], None]]" = None,
        say: "Optional[Callable[[str], None]]" = None,
    ) -> End:
        """Does what guard says until the run is over, even if somebody still holds its output; returns how it ended.

        Blocks, so it is for a thread of its own: others feed ``output`` meanwhile. Needs Python 3.9.

        :param wait: returns the ``returncode`` of the process, which has ended: ``Popen.wait``
        :param close_stdin: closes the process's standard input, if that is a pipe of yours
        :param say: is called with what the user is to be told
        """
        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        due = select.poll()
        due.register(reads, select.POLLIN)
        ended = None
        try:
            with self._waking:
                self._wakes = writes
            try:
                ended = os.pidfd_open(self._pid)
                due.register(ended, select.POLLIN)
            except ProcessLookupError:
                self.exited(wait())
            while (answer := self.ask()).settled is None:
                for step in answer.steps:
                    step.carry_out()
                    if step.do is Do.CLOSE_STDIN and close_stdin is not None:
                        close_stdin()
                    if step.do is Do.SAY and say is not None:
                        say(step.text)
                ready = [fd for fd, _ in due.poll(None if answer.next_s is None else answer.next_s * 1000)]
                if reads in ready:
                    os.read(reads, 4096)
                if ended in ready:
                    due.unregister(ended)
                    self.exited(wait())
            return answer.settled
        finally:
            with self._waking:
                self._wakes = None
            for fd in (reads, writes, ended):
                if fd is not None:
                    os.close(fd)

    def close(self) -> None:
        """Frees it."""
        guard, self._guard = self._guard, None
        if guard is not None:
            _library.rehang_guard_free(guard)

    def __enter__(self) -> "Guard":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _open(self) -> int:
        if self._guard is None:
            raise UsageError("this guard is closed")
        return self._guard

    def _tell(self, tell: Any, *what: Any) -> None:
        if tell(self._open(), *what) != 0:
            raise Error("an earlier call of this guard failed")
        with self._waking:
            if self._wakes is not None:
                try:
                    os.write(self._wakes, b"\0")
                except BlockingIOError:
                    pass  # it is full: `follow` will wake
