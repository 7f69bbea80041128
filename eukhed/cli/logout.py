"""Says once, on a machine where logging out ends everything (host.logind), that it does, and what helps."""

import os
from typing import Final

from eukhed.cli.context import Context
from eukhed.client.client import Client
from eukhed.host.logind import ends_at_logout

MARKER: Final = "told-of-logout"


def tell_of_launch(context: Context, client: Client) -> None:
    """Tell a person what this client's start of a daemon means, if it started one or looked whether to."""
    if client.launched is None:
        return
    if notice := client.launched.get("notice"):
        context.say(notice)
    if client.launched.get("result") == "started":
        warn_of_logout(context)


def warn_of_logout(context: Context) -> None:
    """Tell a person who started the daemon, once for a state root."""
    if not context.person or not ends_at_logout(os.getuid()):
        return
    marker = os.path.join(context.places.root, MARKER)
    try:
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return  # it was told, or cannot be remembered: then it is better not told each time
    context.say("sessions end when you log out, because lingering is off      fix: loginctl enable-linger")
