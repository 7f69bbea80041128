"""What one supervisor is configured with."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from anyio.abc import ObjectReceiveStream

from eukhed.paths import Places
from eukhed.timing import Timing
from eukhed.wire.network import Listener


class Herald(Protocol):
    """Who waits for this process outside: the launcher's pipe, the service manager. Nobody's word is waited for."""

    def ready(self) -> None: ...
    def status(self, text: str) -> None: ...
    def alive(self) -> None: ...
    def stopping(self) -> None: ...

    @property
    def alive_every_ms(self) -> int | None:
        """How often `alive` is to be said; None when nobody watches."""
        ...


class Settings(NamedTuple):
    """Given once, by the entry point or by a simulated world."""

    places: Places
    timing: Timing
    version: str
    build: str
    uid: int
    entropy: Callable[[int], bytes]
    herald: Herald
    signals: ObjectReceiveStream[int]  # each one asks for an end
    activated: Listener | None = None  # the public socket, when a service manager opened it
    supervised_by: str | None = None  # "systemd", or nobody
    survives_logout: bool = True
    config_problems: tuple[str, ...] = ()
    unsafe_filesystem: bool = False
    zone: str | None = None  # the machine's time zone, for patterns of scheduled jobs without one
