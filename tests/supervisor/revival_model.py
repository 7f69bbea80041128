"""The revival law, said the slow way: strike out reasons one by one, the weakest first."""

from eukhed.timing import RevivalReach


def verdict(
    busy: bool,
    gave_up: bool,
    archived: bool,
    lease_held: bool,
    stamp: int | None,
    now: int,
    reach: RevivalReach,
) -> str:
    answer = "revive"
    if stamp is not None and not (stamp <= now + reach.skew_ms):
        answer = "future"
    if stamp is not None and not (now <= stamp + reach.max_age_ms):
        answer = "stale"
    if stamp is None:
        answer = "no_stamp"
    if lease_held:
        answer = "lease_held"
    if archived:
        answer = "archived"
    if gave_up:
        answer = "gave_up"
    if not busy:
        answer = "not_busy"
    return answer
