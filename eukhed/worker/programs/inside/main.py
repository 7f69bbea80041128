"""The process of a bundle's program: one JavaScript context, one channel, nothing else.

    python -I -S -c TEXT <path of the engine's module>

Descriptor 0 is the channel: frames of a length (four bytes, big-endian) and JSON. First comes what to run:
{program, input, now, seed, prelude, memory, stack, cpu_s, address_space, most,
parent}; then, for each {call, told} that is sent, its
answer {output} or {error}; last is sent {state: finished | threw | pending, ...}. Whoever started this ends it
when it likes: a call that is not to be answered is not answered.
"""

import importlib.machinery
import importlib.util
import os
import resource
import signal
import struct
import sys
from typing import Any, Final

CHANNEL: Final = 0
HEAD: Final = struct.Struct(">I")


def read() -> bytes:
    """One frame; the process ends where the channel does."""
    return taken(HEAD.unpack(taken(HEAD.size))[0])


def taken(size: int) -> bytes:
    """So many bytes of the channel."""
    found = bytearray()
    while len(found) < size:
        piece = os.read(CHANNEL, min(size - len(found), 1 << 20))
        if not piece:
            os._exit(0)
        found += piece
    return bytes(found)


def write(data: bytes) -> None:
    """Send one frame."""
    left = memoryview(HEAD.pack(len(data)) + data)
    while left:
        left = left[os.write(CHANNEL, left) :]


def end_with_parent() -> None:
    """Be killed when the worker is, in whatever the program does then."""
    import ctypes  # noqa: PLC0415 - it is part of the text that is run

    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG


def bind(told: "dict[str, Any]") -> None:
    """Nothing can be opened, started or written from here on, and nothing can be had without a limit."""
    os.closerange(CHANNEL + 1, 4096)
    for limit, most in (
        (resource.RLIMIT_AS, told["address_space"]),
        (resource.RLIMIT_CPU, told["cpu_s"]),
        (resource.RLIMIT_NOFILE, 1),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))


def engine(path: str) -> "Any":
    """The engine's module, which is one file; nothing of where it lies can be imported."""
    loader = importlib.machinery.ExtensionFileLoader("_quickjs", path)
    spec = importlib.util.spec_from_loader("_quickjs", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def main() -> None:
    """Run one program."""
    import json  # noqa: PLC0415 - it is part of the text that is run

    end_with_parent()
    quickjs = engine(sys.argv[1])
    told = json.loads(read())
    if os.getppid() != told["parent"]:
        os._exit(0)  # it ended before we had asked to end with it
    bind(told)
    context = quickjs.Context()
    context.set_memory_limit(told["memory"])
    context.set_max_stack_size(told["stack"])

    def door(name: str, text: str) -> str:
        if len(text.encode()) > told["most"]:
            return json.dumps(
                {"error": {"name": "RangeError", "message": f"what is given to {name} is too large"}}
            )
        write(json.dumps({"call": name, "told": text}).encode())
        return read().decode()

    try:
        context.add_callable("_door", door)
        context.eval("globalThis._seed = " + json.dumps(told["seed"]))
        parts = context.eval(f"({told['prelude']})(_door, {told['now']}, _seed)")
        context.set("_parts", parts)
        begin, state = context.eval("_parts[0]"), context.eval("_parts[1]")
        context.eval("delete globalThis._door; delete globalThis._seed; delete globalThis._parts")
        begin(told["program"], told["input"])
        while json.loads(state())["state"] == "pending" and context.execute_pending_job():
            pass
        end = state()
    except (quickjs.JSException, MemoryError, SystemError) as error:
        words = str(error).partition("\n")[0] or type(error).__name__
        end = json.dumps({"state": "threw", "error": {"name": "", "message": words}})
    if len(end.encode()) > told["most"]:
        end = json.dumps(
            {"state": "threw", "error": {"name": "", "message": "what it returned is too large"}}
        )
    write(end.encode())


if __name__ == "__main__":
    main()
