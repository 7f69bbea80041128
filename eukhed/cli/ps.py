"""`eukhed ps`: the worker processes."""

from typing import Any, Final

from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import WIDTH_MAX, coloured, plain, seconds, size, table, to_json
from eukhed.client.client import Client

ANSWER_MS: Final = 30_000
HEADS: Final = ("SESSION", "STATE", "PID", "UPTIME", "CPU", "MEM", "RESTARTS", "WORK")
WORDS: Final = {"input": "queued", "admitted": "retry"}  # for kinds of work; others are their own word


def run(context: Context, _flags: Options) -> int:
    """List the workers; exit 4 without a daemon."""
    with Client(context.places, relaunch=False) as client:
        workers: list[dict[str, Any]] = client.request("ps", looks=True, wait_ms=ANSWER_MS)["workers"]
    if context.json:
        context.out(to_json(workers))
        return 0
    if not workers:
        context.say("no session is active")
        return 0
    for line in lines(context, workers):
        context.out(line)
    return 0


def lines(context: Context, workers: list[dict[str, Any]]) -> list[str]:
    """Return the table of these workers."""
    width = WIDTH_MAX if is_terminal(1) else None
    right = ("PID", "UPTIME", "CPU", "MEM")
    drawn = table(HEADS, [_row(one) for one in workers], width=width, right=right, cut_at="WORK")
    told = drawn[:1]
    for line, one in zip(drawn[1:], workers, strict=True):
        state = _state(one)
        told.append(
            line.replace(state, coloured(state, state, colour=context.colour), 1) if context.colour else line
        )
    return told


def _row(one: dict[str, Any]) -> list[str]:
    up, cpu = one.get("uptime_s"), one.get("cpu_s")
    share = f"{100 * cpu / up:.1f}%" if cpu is not None and up else "-"
    tries = (one.get("restarts") or 0) + (one.get("restarts_left") or 0)
    return [
        plain(str(one["name"])), _state(one), str(one.get("pid") or "-"), seconds(up), share,
        size(one.get("pss_bytes")), f"{one.get('restarts') or 0} of {tries}", _work(one),
    ]  # fmt: skip


def _state(one: dict[str, Any]) -> str:
    return "adopted" if one.get("adopted") and one["state"] in {"idle", "busy"} else str(one["state"])


def _work(one: dict[str, Any]) -> str:
    if one["state"] == "gave up":
        return f"{plain(str(one.get('last_error')))}      eukhed reopen {one['name']}"
    work = one.get("work") or []
    listed: dict[str, list[str]] = {}
    for item in work:
        kind = str(item.get("kind", item)) if isinstance(item, dict) else str(item)
        named = str(item["run"]) if isinstance(item, dict) and item.get("run") is not None else ""
        listed.setdefault(WORDS.get(kind, kind), []).append(named)
    if len(listed) > 1:
        listed.pop("waiting", None)
    return (
        plain("; ".join(f"{word} {', '.join(filter(None, named))}".strip() for word, named in listed.items()))
        or "-"
    )
