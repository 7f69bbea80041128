"""Tell one history again: `python -m tests.world SEED [DOES FAULT...]`.

With the seed alone everything is drawn from it. With DOES (blink, count, ...) there is one person, and each
FAULT is OF:AT:WHAT, as a failing test prints it; `power-at-end` adds a loss of power after the run.
"""

import sys

from tests.world.faults import Fault
from tests.world.history import Told, tell, tell_drawn
from tests.world.invariants import Broken
from tests.world.people import Person
from tests.world.world import World


def main(words: list[str]) -> int:
    """Print the history; 1 when an invariant does not hold."""
    try:
        told = _told(words)
    except Broken as broken:
        print(broken)
        return 1
    print(*told.trace, f"effects {dict(told.effects)}", f"seen {dict(told.seen)}", sep="\n")
    return 0


def _told(words: list[str]) -> Told:
    seed = int(words[0])
    if len(words) == 1:
        return tell_drawn(seed)
    faults = [Fault.read(word) for word in words[2:] if word != "power-at-end"]

    def person(world: World) -> list[Person]:
        return [Person(world, "ann", does=words[1])]

    return tell(seed, faults, person, power_at_end="power-at-end" in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
