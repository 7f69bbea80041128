"""Whether logging out ends what a user left running, as systemd-logind decides it.

logind stops the user's manager, and what it may of the rest, after the last logout of a user who does not
linger. It lets root be (KillExcludeUsers), and where no logind keeps sessions (a container, another init)
nobody is ended.
"""

import os
import pwd
from typing import Final

LINGER: Final = "/var/lib/systemd/linger"
SEATS: Final = "/run/systemd/seats"  # exists where systemd-logind runs


def ends_at_logout(uid: int, linger: str = LINGER, seats: str = SEATS) -> bool:
    """Whether the last logout would end this user's processes."""
    if uid == 0 or not os.path.isdir(seats):
        return False
    return not os.path.exists(os.path.join(linger, user_name(uid)))


def user_name(uid: int) -> str:
    """The user's name, or the number of one that has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
