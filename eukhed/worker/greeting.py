"""What a worker says first on every connection: who it is and which build it runs."""

from collections.abc import Sequence

from eukhed.build import PROTOCOL, SCHEMA, VERSION
from eukhed.host.seam import Host
from eukhed.wire.messages import SUPERVISOR, Hello, WorkerSpec


def hello(host: Host, spec: WorkerSpec, capabilities: Sequence[str], generation: int) -> Hello:
    """Who this worker is; `generation` is the supervisor's that it obeys."""
    own = host.processes.own()
    return Hello(
        PROTOCOL,
        SCHEMA,
        VERSION,
        spec.build,
        generation,
        own.pid,
        list(own),
        list(capabilities),
        SUPERVISOR,
        spec.root,
        spec.instance,
    )
