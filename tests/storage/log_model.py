"""The commit log's plan, said the slow way: a disk in two parts, and what may be asked of it at each moment."""

from dataclasses import dataclass, field

from eukhed.storage import log_law


@dataclass
class Disk:
    """What is in the cache and what is durable: bytes of a file, and names."""

    cached: set[str] = field(default_factory=set)
    durable: set[str] = field(default_factory=set)
    acknowledged: bool = False

    def do(self, step: log_law.Step) -> None:
        match step:
            case log_law.AppendRecords(name=name):
                self.cached |= {f"bytes {name}", f"name {name}"}
            case log_law.AppendMarkers():
                self.cached |= {f"bytes {log_law.MAIN}", f"name {log_law.MAIN}"}
            case log_law.FlushFile(name=name):
                self.durable |= {f"bytes {name}"} & self.cached
            case log_law.FlushMain():
                self.durable |= {f"bytes {log_law.MAIN}"} & self.cached
            case log_law.FlushDirectory():
                self.durable |= {item for item in self.cached if item.startswith("name")}
            case log_law.Acknowledge():
                self.acknowledged = True
            case log_law.CutBack(name=name):
                self.cached -= {f"bytes {name}"}
                self.durable -= {f"bytes {name}"}
            case _:
                pass


def start(state: log_law.State, group: log_law.Begin) -> Disk:
    """The disk before the group: names that are durable, files that others wrote and did not flush."""
    names = {f"name {name}" for name in state.durable}
    written = {f"bytes {name}" for name in group.files} | {f"name {name}" for name in group.files}
    return Disk(cached=names | written, durable=set(names))


def relied_on(group: log_law.Begin) -> set[str]:
    """What a marker relies on."""
    names = [sidecar.name for sidecar in group.sidecars] + list(group.files)
    return {f"bytes {name}" for name in names} | {f"name {name}" for name in names}


def committed(group: log_law.Begin) -> set[str]:
    """What is durable once the group is acknowledged."""
    return relied_on(group) | {f"bytes {log_law.MAIN}", f"name {log_law.MAIN}"}
