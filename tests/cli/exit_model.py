"""The model of exit_law: the sentences of interface's page on exit statuses, as a shell would write them."""


def of_end(code: int | None, signal: int | None, timed_out: bool) -> int:
    known = [status for status in (code, None if signal is None else 128 + signal) if status is not None]
    return 124 if timed_out else (known or [125])[0]


def of_trouble(command: str, status: int) -> int:
    if command == "bundle run":
        return {4: 4, 5: 5}.get(status, 1)
    shows_a_run = command in ("run", "attach", "wait", "rerun", "bash", "spawn")
    return 125 if shows_a_run and status not in (2, 4, 5) else status
