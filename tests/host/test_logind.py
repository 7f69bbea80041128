"""Logging out ends what a user left where logind is and the user does not linger; never root's."""

import os
import pwd
from pathlib import Path

import pytest

from eukhed.host.logind import ends_at_logout, user_name

NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.mark.parametrize(
    ("uid", "logind", "lingers", "ends"),
    [
        (NOBODY, True, False, True),
        (NOBODY, True, True, False),
        (NOBODY, False, False, False),
        (0, True, False, False),
    ],
)
def test_it_ends_where_logind_is_and_the_user_does_not_linger(
    tmp_path: Path, uid: int, logind: bool, lingers: bool, ends: bool
) -> None:
    seats, linger = tmp_path / "seats", tmp_path / "linger"
    linger.mkdir()
    if logind:
        seats.mkdir()
    if lingers:
        (linger / user_name(uid)).touch()
    assert ends_at_logout(uid, str(linger), str(seats)) is ends


def test_a_user_without_a_name_goes_by_number() -> None:
    free = next(uid for uid in range(60_000, 65_000) if uid not in {entry.pw_uid for entry in pwd.getpwall()})
    assert user_name(free) == str(free)
    assert user_name(os.getuid()) == pwd.getpwuid(os.getuid()).pw_name
