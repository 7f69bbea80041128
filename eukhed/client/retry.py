"""Whether a request that failed is sent once more. Asks retry_law."""

from eukhed.client import retry_law
from eukhed.errors import ConnectionLost, SessionRecovering


def again(error: SessionRecovering | ConnectionLost, *, sent: bool, known: bool, looks: bool) -> bool:
    """Whether to send it again.

    Args:
        error: how it failed; a daemon that says so knows whether a worker saw it.
        sent: whether a byte of it left this process.
        known: whether it has a command id.
        looks: it changes nothing.
    """
    refused = False
    if isinstance(error, SessionRecovering):
        sent = error.data.get("sent") is True
        refused = not sent
    return retry_law.again(retry_law.Facts(refused, sent, known, looks))
