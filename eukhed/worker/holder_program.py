"""The holder's program, kept in memory: a holder is started from it whatever becomes of our files.

    python -I -S -c START <descriptor> <run directory>

The descriptor is a memory file with the program and the plan of the run. A bare interpreter runs START,
which runs LOADER from there, which makes modules of the program and hands them the plan. The program is
there twice: compiled, for the interpreter that compiled it (to compile it anew costs more than to start
Python), and as text, for the one that an upgrade may have put in its place.
"""

import marshal
import os
import sys
from typing import Any, Final

START: Final = "import marshal,sys;f=open(int(sys.argv[1]),'rb');f.seek(0);given=marshal.load(f);f.close();exec(given['loader'])"
LOADER: Final = """\
if given["python"] == sys.version:
    parts = marshal.loads(given["code"])
else:
    parts = [(name, compile(text, name, "exec")) for name, text in given["texts"]]
for name, code in parts:
    module = sys.modules[name] = type(sys)(name)
    exec(code, module.__dict__)
module.hold(given["plan"])
"""
ORDER: Final = ("place", "cap_law", "streams", "command", "descendants", "peers", "outputs", "input", "main")


def _read() -> list[tuple[str, bytes]]:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holder")
    found = []
    for name in ORDER:
        with open(os.path.join(folder, f"{name}.py"), "rb") as file:
            found.append((f"eukhed.worker.holder.{name}", file.read()))
    return found


_TEXTS: Final = _read()  # when this module is imported, which the preload does before any fork
PROGRAM: Final[dict[str, Any]] = {
    "loader": LOADER,
    "python": sys.version,
    "code": marshal.dumps([(name, compile(text, name, "exec")) for name, text in _TEXTS]),
    "texts": _TEXTS,
}


def packed(plan: dict[str, Any]) -> bytes:
    """The memory file of one holder. The plan holds numbers, text, bytes, lists and dicts only."""
    return marshal.dumps(PROGRAM | {"plan": plan}, 2)  # version 2: read by every Python
