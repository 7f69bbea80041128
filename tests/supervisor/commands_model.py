"""A journal of commands that forgets and crashes, and a count of effects: what the law must keep at one."""


class Journal:
    def __init__(self, keep_ms: int) -> None:
        self.keep_ms = keep_ms
        self.lines: dict[str, tuple[str, int]] = {}
        self.made: dict[str, int] = {}
        self.effects: dict[str, int] = {}

    def known(self, command: str) -> str:
        return self.lines.get(command, ("nothing", 0))[0]

    def age(self, command: str, now: int) -> int:
        return now - self.made[command]
