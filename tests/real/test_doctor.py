"""doctor on real processes: a healthy home, a damaged one, and what --fix may do."""

import json
from pathlib import Path
from typing import Any

from tests.real.home import Home, until


def findings(home: Home, *words: str, status: int | None = None) -> dict[str, dict[str, Any]]:
    done = home.run("doctor", *words, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == any(one["state"] == "broken" for one in found), done
    if status is not None:
        assert done.returncode == status, found
    return {one["subject"]: one for one in found}


def storage(home: Home, name: str) -> Path:
    row = next(row for row in home.json("sessions", "--all") if row["name"] == name)
    return home.root / "sessions" / str(row["id"])


def damage(place: Path, line: int) -> bytes:
    main = place / "main.jsonl"
    lines = main.read_bytes().splitlines(keepends=True)
    lines[line - 1] = b"?" + lines[line - 1][1:]
    main.write_bytes(b"".join(lines))
    return main.read_bytes()


def test_a_home_without_anything(home: Home) -> None:
    assert "broken" not in {one["state"] for one in findings(home, status=0).values()}
    assert not home.root.exists(), "a look makes nothing"


def test_a_healthy_home(home: Home) -> None:
    home.ok("run", "--", "true")
    found = findings(home, status=0)
    assert "socket answers (protocol 1)" in found["runtime dir"]["what"]
    assert (found["sessions"]["state"], found["sessions"]["what"]) == ("ok", "1 readable")
    assert home.ok("doctor").splitlines()[0].startswith(("✓ state root", "! state root"))
    home.root.chmod(0o755)
    try:
        broken = findings(home, status=1)["state root"]
    finally:
        home.root.chmod(0o700)
    assert broken["fix"] == ["chmod", "700", str(home.root)]


def test_a_session_that_was_given_up_and_a_scale(home: Home) -> None:
    home.env["EUKHED_TIMING_SCALE"] = "0.5"
    home.ok("run", "--", "true")
    found = findings(home, status=0)
    assert found["timing"]["state"] == "warning"


def test_a_damaged_session_is_named_and_mended_on_a_word(home: Home) -> None:
    for word in ("one", "two", "three"):
        home.ok("run", "--", "echo", word)
    last = home.json("runs", "-n", "1")[0]["run"]
    home.ok("new", "other", "--cwd", str(home.base))
    until(lambda: home.run("shutdown", "--if-idle").returncode == 0, what="an idle daemon")
    place = storage(home, "shop")
    (place / "main.checkpoint").unlink(missing_ok=True)
    lines = (place / "main.jsonl").read_bytes().splitlines(keepends=True)
    bad = len(lines) - 2
    before = damage(place, bad)
    told = findings(home, status=1)["session shop"]
    assert told["what"].startswith(f"main.jsonl line {bad}: ")
    assert told["what"].endswith("; 2 later commits are readable")
    assert told["since"] > 1_600_000_000_000
    assert told["fix"] == ["eukhed", "doctor", "--fix", "--session", place.name]
    assert findings(home, "--session", "other", status=0)["sessions"]["state"] == "ok"
    assert (place / "main.jsonl").read_bytes() == before, "a look changes nothing"
    assert "one\n" in home.run("log", "shop").stdout.decode(), "what stands before the damage is readable"
    asked = home.run("doctor", "--fix", "--session", "shop")
    assert asked.returncode == 2
    assert b"--yes" in asked.stderr
    assert (place / "main.jsonl").read_bytes() == before
    left = home.root / "session-artifacts" / place.name / f"run-{last}"  # of a run whose number is given anew
    left.mkdir(parents=True, exist_ok=True)
    home.ok("doctor", "--fix", "--session", "shop", "--yes")
    assert not left.exists()
    assert list(left.parent.glob(f"run-{last}.cut-*"))
    (kept,) = place.glob("main.jsonl.cut-*")
    assert (place / "main.jsonl").read_bytes() + kept.read_bytes() == before
    assert findings(home, status=0)["sessions"]["what"] == "2 readable"
    assert home.ok("run", "--session", "shop", "--", "echo", "on") == "on\n"


def test_a_session_that_no_list_has_is_named_by_its_id(home: Home) -> None:
    home.ok("run", "--", "echo", "one")
    until(lambda: home.run("shutdown", "--if-idle").returncode == 0, what="an idle daemon")
    place = storage(home, "shop")
    (place / "main.checkpoint").unlink(missing_ok=True)
    damage(place, 1)
    assert home.json("sessions", "--all") == []
    told = findings(home, status=1)[f"session {place.name}"]
    assert told["state"] == "broken"
    assert findings(home, "--session", place.name, status=1)


def test_another_home_that_is_alive(home: Home) -> None:
    home.ok("run", "--", "true")
    told = findings(home, "--home", str(home.base / "second"))["another home"]
    assert told["look"] == ["eukhed", "--home", str(home.root), "ps"]
    assert str(home.supervisor()) in told["what"]


def test_a_paused_job(home: Home) -> None:
    home.ok("new", "shop")
    home.ok("cron", "add", "--name", "nightly", "shop", "every 1h", "--", "true")
    home.ok("cron", "pause", "nightly")
    told = findings(home)["job"]
    assert told["what"].startswith("nightly is paused")
    assert told["fix"] == ["eukhed", "cron", "resume", "nightly"]
