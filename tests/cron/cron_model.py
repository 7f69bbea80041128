"""The cron laws, said the slow way: a file is plain lists of plain records, changed in place.

Only one-shots (`in`, `at`) and intervals; times are milliseconds. `render` is the file's text.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

MINUTE = 60_000
PAUSES = [2, 4, 8, 16, 32, 60, 60]  # minutes


class Model:
    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.claims: list[dict[str, Any]] = []

    # what is asked

    def job(self, name: str) -> dict[str, Any]:
        (found,) = [job for job in self.jobs if job["id"] == name]
        return found

    def claim_of(self, name: str) -> dict[str, Any] | None:
        found = [claim for claim in self.claims if claim["job"] == name]
        assert len(found) <= 1, "two fires of one job at once"
        return found[0] if found else None

    # what happens

    def create(self, name: str, session: str, now: int, every: int | None, once_in: int | None) -> None:
        span = every if every is not None else once_in
        assert span is not None
        job = {"id": name, "status": "active", "session": session, "every": every, "once_in": once_in}
        times = {"created": now, "updated": now, "next": now + span, "ran": None, "skipped": None}
        self.jobs.append(job | times | {"error": None, "runs": 0, "failures": 0})

    def claim(self, owner: list[Any], now: int) -> list[str]:
        made = []
        due = [j for j in self.jobs if j["status"] == "active" and j["next"] is not None and j["next"] <= now]
        for job in sorted(due, key=lambda job: (job["next"], job["id"])):
            slot = job["next"]
            if job["every"] is None:
                job["next"] = None
            else:
                while job["next"] <= now:
                    job["next"] += job["every"]
            going = self.claim_of(job["id"])
            if going is not None:
                job["skipped"] = now
                if job["every"] is None:
                    going["manual"] = False
            else:
                name = f"cron:{job['id']}:{slot}"
                record = {
                    "id": name,
                    "job": job["id"],
                    "session": job["session"],
                    "claimed": now,
                    "slot": slot,
                }
                self.claims.append(record | {"owner": owner, "manual": False})
                made.append(name)
            self.touch(job, now)
        return made

    def fire(self, name: str, owner: list[Any], now: int) -> str:
        job = self.job(name)
        made = f"cron:{name}:{now}"
        record = {"id": made, "job": name, "session": job["session"], "claimed": now, "slot": now}
        self.claims.append(record | {"owner": owner, "manual": True})
        return made

    def finish(self, name: str, owner: list[Any], end: str, error: str | None, now: int) -> None:
        found = [claim for claim in self.claims if claim["id"] == name and claim["owner"] == owner]
        if not found:
            return
        (claim,) = found
        self.claims.remove(claim)
        job = self.job(claim["job"])
        self.touch(job, now)
        if end in ("ran", "failed", "stopped"):
            job["runs"] += 1
            job["ran"] = now
            job["error"] = None if end == "ran" else (error or end)
        elif end == "skipped":
            job["skipped"] = now
            job["error"] = error or job["error"]
        else:
            job["error"] = error or "interrupted"
        if claim["manual"]:
            return
        if job["every"] is None:
            if job["status"] == "active" or (job["status"] == "paused" and end != "skipped"):
                job["status"], job["next"] = "completed", None
        elif end == "ran":
            job["failures"] = 0
        elif end == "failed":
            job["failures"] += 1
            if job["status"] == "active":
                self.back_off(job, now)

    def back_off(self, job: dict[str, Any], now: int) -> None:
        if job["failures"] >= 8:
            job["status"], job["next"] = "paused", None
            return
        earliest = now + PAUSES[job["failures"] - 1] * MINUTE
        job["next"] = max(job["next"], earliest)

    def may_fire(self, claim: dict[str, Any]) -> bool:
        status = self.job(claim["job"])["status"]
        return bool(status == "active" or (status == "paused" and claim["manual"]))

    def recover(
        self, me: list[Any], now: int, dead: list[list[Any]], tended: list[str], runs: dict[str, str]
    ) -> None:
        """`runs` says live, ended or never of each claim."""
        for claim in list(self.claims):
            if claim["id"] in tended or (claim["owner"] != me and claim["owner"] not in dead):
                continue
            state = runs[claim["id"]]
            claim["owner"] = me
            if state == "ended":
                self.finish(claim["id"], me, "interrupted", None, now)
            elif state == "never" and not self.may_fire(claim):
                self.finish(claim["id"], me, "skipped", None, now)

    def pause(self, name: str, now: int) -> None:
        job = self.job(name)
        if job["status"] == "active":
            job["status"], job["next"] = "paused", None
            self.touch(job, now)

    def resume(self, name: str, now: int) -> None:
        job = self.job(name)
        if job["status"] != "paused":
            return
        claim = self.claim_of(name)
        if job["every"] is not None:
            job["next"] = now + job["every"]
        elif claim is not None and not claim["manual"]:
            job["next"] = None  # it has begun
        else:
            job["next"] = job["created"] + job["once_in"]
        job["status"], job["failures"] = "active", 0
        self.touch(job, now)

    def cancel(self, name: str, now: int) -> None:
        job = self.job(name)
        if job["status"] in ("active", "paused"):
            job["status"], job["next"] = "cancelled", None
            self.touch(job, now)

    def touch(self, job: dict[str, Any], now: int) -> None:
        before = job["updated"]
        job["updated"] = now if now > before else before + 1

    # the file

    def render(self) -> str:
        lines = ["{"]
        lines += array("jobs", [job_lines(job) for job in self.jobs], ",")
        lines += array("dispatches", [claim_lines(claim) for claim in self.claims], "")
        return "\n".join([*lines, "}", ""])


def array(name: str, records: list[list[str]], after: str) -> list[str]:
    if not records:
        return [f'  "{name}": []{after}']
    lines = [f'  "{name}": [']
    for number, record in enumerate(records):
        last = "" if number == len(records) - 1 else ","
        lines += ["    {", *(f"    {line}" for line in record), "    }" + last]
    return [*lines, "  ]" + after]


def when(ms: int | None) -> str | None:
    if ms is None:
        return None
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")[
        :-6
    ] + "Z"


def listed(items: list[tuple[str, Any]]) -> list[str]:
    told = [(key, value) for key, value in items if value is not None]
    lines = []
    for number, (key, value) in enumerate(told):
        text = value if key == "schedule" else json.dumps(value, ensure_ascii=False)
        lines.append(f'  "{key}": {text}' + ("" if number == len(told) - 1 else ","))
    return lines


def job_lines(job: dict[str, Any]) -> list[str]:
    every, once_in = job["every"], job["once_in"]
    kind, words = (
        ("interval", f"every {every // 1000}s") if every is not None else ("once", f"in {once_in // 1000}s")
    )
    schedule = "\n".join(
        [
            "{",
            f'        "kind": "{kind}",',
            f'        "expression": "{words}",',
            f'        "intervalMs": {every if every is not None else once_in}',
            "      }",
        ]
    )
    return listed(
        [
            *[
                ("id", job["id"]),
                ("status", job["status"]),
                ("session", job["session"]),
                ("cwd", "/home/u/my dir"),
            ],
            *[("prompt", "tick ✓"), ("schedule", schedule)],
            *[("createdAt", when(job["created"])), ("updatedAt", when(job["updated"]))],
            *[("nextRunAt", when(job["next"])), ("lastRunAt", when(job["ran"]))],
            *[("lastSkippedAt", when(job["skipped"])), ("lastError", job["error"])],
            *[("runCount", job["runs"]), ("failures", job["failures"])],
        ]
    )


def claim_lines(claim: dict[str, Any]) -> list[str]:
    pid, start, boot, namespace = claim["owner"]
    return listed(
        [
            *[("id", claim["id"]), ("jobId", claim["job"]), ("session", claim["session"])],
            *[("claimedAt", when(claim["claimed"])), ("scheduledFor", when(claim["slot"]))],
            ("owner", {"pid": pid, "start": start, "boot": boot, "namespace": namespace}),
            ("manual", claim["manual"] or None),
        ]
    )
