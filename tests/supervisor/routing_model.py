"""The routing law, said the slow way."""


def verdict(draining: bool, phase: str, in_flight: int, answered: bool, most: int) -> str:
    answer = "wait"
    if phase == "ready":
        answer = "forward"
    if answered and not in_flight < most:
        answer = "overloaded"
    if phase == "failed":
        answer = "gave_up"
    if draining:
        answer = "shutting_down"
    return answer


def receivers(client: int | None, connected: list[int], followers: list[int]) -> list[int]:
    if client is None:
        return [number for number in connected if number in followers]
    return [number for number in connected if number == client]
