"""Says once, on a machine where logging out ends everything, that it does, and what to do about it.

systemd-logind ends a user's manager, and with it all that the user left running, after the last logout
unless the user lingers. Where no logind keeps sessions (a container, another init) nothing is said.
"""

import os
from typing import Final

from eukhed.cli.context import Context
from eukhed.client.client import Client

MARKER: Final = "told-of-logout"
LINGER: Final = "/var/lib/systemd/linger"
SEATS: Final = "/run/systemd/seats"  # exists where systemd-logind runs


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
    if not context.person or not ends_at_logout():
        return
    marker = os.path.join(context.places.root, MARKER)
    try:
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return  # it was told, or cannot be remembered: then it is better not told each time
    context.say("sessions end when you log out, because lingering is off      fix: loginctl enable-linger")


def ends_at_logout(linger: str = LINGER, seats: str = SEATS) -> bool:
    """Whether logging out would end what this user runs: logind keeps sessions, and the user does not linger."""
    if not os.path.isdir(seats):
        return False
    return not os.path.exists(os.path.join(linger, user_name()))


def user_name() -> str:
    """Return the name of this process's user."""
    import pwd  # noqa: PLC0415 - only where logind runs

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
