"""What the benches share: contenders that take turns in one run, and a result that is printed and kept.

A side is measured in a directory of its own, made for each round and removed after it.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def alternate(place: str, rounds: int, sides: dict[str, Callable[[str], T]]) -> dict[str, list[T]]:
    """Measure each side once a round (A B A B ...); what each said, in the order of the rounds."""
    found: dict[str, list[T]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            directory = tempfile.mkdtemp(dir=place)
            try:
                found[name].append(side(directory))
            finally:
                shutil.rmtree(directory)
    return found


def main(says: str | None, rounds: int, measure: Callable[[str, int], dict[str, Any]]) -> None:
    """The command line of a bench: measure in a scratch directory, print the result, and write it to --out."""
    arguments = argparse.ArgumentParser(
        description=says, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--out", metavar="FILE")
    arguments.add_argument("--rounds", type=int, default=rounds)
    arguments.add_argument("--directory", metavar="DIR", help="measure on the file system of this one")
    given = arguments.parse_args()
    place = tempfile.mkdtemp(dir=given.directory)
    try:
        found = measure(place, given.rounds)
    finally:
        shutil.rmtree(place)
    tell(found, given.out)


def tell(found: dict[str, Any], out: str | None) -> None:
    """Print a result with the version of Python, and write it to a file."""
    text = json.dumps(found | {"python": sys.version.split()[0]}, indent=1)
    print(text)
    if out:
        with open(out, "w", encoding="ascii") as file:
            file.write(text + "\n")
