"""What has happened since this supervisor began, for `status` and `metrics`: each count only grows."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counts:
    """How often something happened."""

    commands: int = 0  # of clients, whoever answered them
    connections: int = 0  # of clients
    worker_starts: int = 0  # workers that were started and became ready
    worker_adoptions: int = 0  # live workers of an earlier supervisor that were taken over
    worker_failures: int = 0  # ends and starts that counted against a restart budget
    sessions_given_up: int = 0

    def told(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)
