"""The commands on bundles as a person types them in a shell: racing, killed, hostile; and what they leave."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from eukhed.host.files import SystemFiles
from tests.bundles.machine import check_lineage, shelf
from tests.real.home import Home, until

VECTOR = "sha256:2d63c5d0e31df2a3a60c17da22f81c531dc8d51880eb584222f53944d93a9527"


def write(home: Home, program: str = "one", where: str = "triage") -> Path:
    source = home.directory / where
    (source / "prompts").mkdir(parents=True, exist_ok=True)
    (source / "manifest.json").write_text('{"name": "triage", "purpose": "sorts mail"}\n')
    (source / "program.js").write_text(program)
    (source / "prompts" / "ask.md").write_text("Who must act?\n")
    return source


def place(home: Home) -> Path:
    return home.root / "subharnesses" / "triage"


def shell(home: Home, script: str, within_s: float = 100) -> subprocess.CompletedProcess[str]:
    """A script of bash, with `eukhed` as a command."""
    prelude = f'eukhed() {{ "{sys.executable}" -m eukhed "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", prelude + script], cwd=home.directory, env=home.env, capture_output=True, text=True,
        timeout=within_s, check=False,
    )  # fmt: skip


def outside(home: Home) -> set[str]:
    """All paths but those of the store."""
    return {str(path) for path in home.base.rglob("*") if "subharnesses" not in str(path)}


def test_the_walk(home: Home) -> None:
    """Write, mint, change, mint from it, look, revert, verify; no daemon is started for any of it."""
    write(home)
    done = shell(home, """
        set -e
        eukhed bundle mint triage
        parent=$(eukhed bundle show triage --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["hash"])')
        echo two > triage/program.js
        eukhed bundle mint triage --parent "$parent" --why "two is better"
        eukhed bundle lineage triage
        eukhed bundle diff triage
        eukhed bundle revert triage 1 --why "one was better" --yes
        eukhed bundle remember triage "reports come on Fridays"
        printf '## a heading\\nand more' | eukhed bundle remember triage -
        eukhed bundle recall triage
        eukhed bundle verify triage
    """)  # fmt: skip
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("triage ")] == [
        ["triage", "v1"], ["triage", "v2"], ["triage", "v3"],
    ]  # fmt: skip
    assert "-one" in lines
    assert "+two" in lines
    assert done.stderr.splitlines()[-1] == "eukhed: triage: 3 versions, all as minted"
    assert [note["text"] for note in home.json("bundle", "recall", "triage")] == [
        "## a heading\nand more", "reports come on Fridays",
    ]  # fmt: skip
    assert home.run("status").returncode == 4


def test_a_store_that_was_written_by_hand(home: Home) -> None:
    """The vector of the hash, as files; `{}` is no manifest, so the bundle is a notice and an error when named."""
    version = place(home).parent / "vector" / "v1"
    version.mkdir(parents=True)
    for name, text in (("manifest.json", "{}\n"), ("program.js", "x"), ("memory.md", "")):
        (version / name).write_text(text)
    record = {"version": 1, "hash": VECTOR, "at": "2026-01-01T00:00:00Z"}
    (version.parent / "v1.json").write_text(json.dumps(record))
    assert home.json("bundle", "verify", "vector")["ok"] is True
    listed = home.run("bundle", "list", "--layer", "home", "--json")
    assert json.loads(listed.stdout) == []
    assert listed.stderr.count(b"vector is left out") == listed.stderr.count(b"\n") == 1
    assert home.run("bundle", "show", "vector").returncode == 1
    assert [one["hash"] for one in home.json("bundle", "lineage", "vector")] == [VECTOR]
    (version / "program.js").write_text("y")
    assert home.run("bundle", "verify", "vector").returncode == 1


def test_many_mint_from_one_head(home: Home) -> None:
    """mint_linear: of 12 processes a round one wins, whatever the others are told."""
    write(home)
    head = home.json("bundle", "mint", "triage")["hash"]
    for turn in range(3):
        minting = []
        for number in range(12):
            write(home, f"'{turn} by {number}'", f"by{number}")
            minting.append(
                home.start(
                    "bundle", "mint", f"by{number}", "--parent", head, "--why", f"round {turn}", "--json"
                )
            )
        told: Counter[str] = Counter()
        for client in minting:
            out, err = client.communicate(timeout=60)
            if client.returncode == 0:
                head = json.loads(out)["hash"]
                told["made"] += 1
            else:
                error = json.loads(err)["error"]
                told[error["code"]] += 1
                assert client.returncode == error["exit"]
        assert told["made"] == 1
        assert told.keys() <= {"made", "stale_parent", "exists", "mint_busy"}
    versions = check_lineage(SystemFiles(), str(place(home)))
    assert sorted(versions) == [1, 2, 3, 4]
    assert home.json("bundle", "verify", "triage")["ok"] is True


def test_a_mint_that_is_killed_at_any_moment(home: Home) -> None:
    """mint_linear: what stands is whole, no number comes twice, and what is left is swept by the next mint."""
    write(home)
    head = home.json("bundle", "mint", "triage")["hash"]
    files, seen = SystemFiles(), Counter[str]()
    for turn in range(12):
        write(home, f"'killed {turn}'")
        client = home.start("bundle", "mint", "triage", "--parent", head, "--why", "x")
        until(lambda: shelf(files, str(place(home))).stages or client.poll() is not None, 30)  # noqa: B023 - waited for here
        client.send_signal(signal.SIGKILL)
        client.communicate()
        there = shelf(files, str(place(home)))
        assert check_lineage(files, str(place(home))).keys() == set(there.complete)
        seen["stage"] += bool(there.stages)
        seen["killed"] += client.returncode == -signal.SIGKILL
        head = home.json("bundle", "show", "triage")["hash"]
        write(home, f"'after {turn}'")
        made = home.json("bundle", "mint", "triage", "--parent", head, "--why", "after")
        assert made["version"] == there.next
        head = made["hash"]
        after = shelf(files, str(place(home)))
        assert (after.stages, after.dead) == ((), there.dead)
    assert home.json("bundle", "verify", "triage")["ok"] is True
    assert seen["killed"] > 0
    print(dict(seen))


def test_a_held_lock_is_answered_in_time(home: Home) -> None:
    """mint_lock_bounded: busy, exit 3, within 2.5 s of the mint's own, and nothing is left."""
    write(home)
    head = home.json("bundle", "mint", "triage")["hash"]
    write(home, "two")
    lock = SystemFiles().open(str(place(home) / ".mint.lock"), write=True)
    assert lock.lock(exclusive=True)
    before, began = sorted(place(home).rglob("*")), time.monotonic()
    start = time.monotonic()
    home.ok("--version")
    bare_s = time.monotonic() - start
    began = time.monotonic()
    done = home.run("bundle", "mint", "triage", "--parent", head, "--why", "x", "--json")
    took_s = time.monotonic() - began
    assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (3, "mint_busy")
    assert took_s < 2.5 + 4 * bare_s, (took_s, bare_s)
    assert sorted(place(home).rglob("*")) == before
    lock.close()
    assert home.json("bundle", "mint", "triage", "--parent", head, "--why", "x")["version"] == 2


HOSTILE = {
    "a name that leads out": """printf '{"name": "../../up", "purpose": "x"}' > triage/manifest.json""",
    "an absolute name": """printf '{"name": "/tmp/up", "purpose": "x"}' > triage/manifest.json""",
    "a name with a NUL": r"""printf '{"name": "a\\u0000", "purpose": "x"}' > triage/manifest.json""",
    "deep JSON": """python3 -c 'print("[" * 100000)' > triage/manifest.json""",
    "an empty manifest": ": > triage/manifest.json",
    "an empty program": ": > triage/program.js",
    "a program that leads out": "ln -sf /etc/passwd triage/program.js",
    "prompts that lead out": "rm -r triage/prompts; ln -s /etc triage/prompts",
    "a loop": "ln -s triage triage/evals",
    "a program of 1 GiB": "truncate -s 1G triage/program.js",
    "10,000 prompts": "(cd triage/prompts; seq -f '%g.md' 10000 | xargs touch)",
    "a fifo": "mkfifo triage/memory.md",
    "a stray file": "touch triage/README",
    "a prompt with a new line": r"touch triage/prompts/$'a\nb.md'",
    "a file that cannot be read": "rm triage/program.js; mkdir triage/program.js",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_bundle_is_refused_in_words(home: Home, what: str) -> None:
    write(home)
    first = home.json("bundle", "mint", "triage")
    made = shell(home, HOSTILE[what])
    assert made.returncode == 0, made
    before, versions = outside(home), sorted(str(path) for path in place(home).rglob("*"))
    done = home.run("bundle", "mint", "triage", "--parent", first["hash"], "--why", "x", "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout) == (error["exit"], b"")
    assert error["code"] in {"invalid", "too_large", "broken_bundle"}
    assert outside(home) == before
    assert sorted(str(path) for path in place(home).rglob("*")) == versions


def test_what_somebody_put_into_the_store(home: Home) -> None:
    """Each is skipped or told; the bundles beside it work, and the next mint takes a number that nothing has."""
    write(home)
    first = home.json("bundle", "mint", "triage")
    (home.base / "secret").write_text("not yours")
    done = shell(home, f"""
        cd "{place(home)}"
        cp v1.json v01.json; cp v1.json v0.json; mkdir v7; echo '?' > v9.json; ln -s "{home.base}/secret" v8.json
        ln -s "{home.base}" .mint-2-aa; mkdir .mint-9-bb; ln -s "{home.base}/secret" memory.md
        mkdir ../empty; touch ../a-file; ln -s "{home.base}" ../linked; cp -r . ../'Bad Name'
    """)  # fmt: skip
    assert done.returncode == 0, done
    listed = home.run("bundle", "list", "--layer", "home", "--json")
    assert [one["name"] for one in json.loads(listed.stdout)] == ["triage"]
    told = [json.loads(line)["notice"] for line in listed.stderr.splitlines()]
    assert sum("version 9 of triage was claimed" in line for line in told) == 1
    assert sum("no bundle can be called 'Bad Name'" in line for line in told) == 1
    for words in (
        ("show", "linked"),
        ("recall", "linked"),
        ("remember", "linked", "x"),
        ("recall", "triage"),
    ):
        done_ = home.run("bundle", *words)
        assert done_.returncode == 1, (words, done_)
        assert b"Traceback" not in done_.stderr
    write(home, "two")
    made = home.json("bundle", "mint", "triage", "--parent", first["hash"], "--why", "x")
    assert made["version"] == 10
    assert (home.base / "secret").read_text() == "not yours"
    assert not (home.base / "memory.md").exists()
    assert not [name for name in os.listdir(place(home)) if name.startswith(".mint-")]
    assert home.json("bundle", "verify", "triage")["drift"] == []


def test_notes_of_many_processes(home: Home) -> None:
    """memory_append_only, memory_round_trip: of 8 shells that remember 8 things each none is lost or torn."""
    write(home)
    home.ok("bundle", "mint", "triage")
    script = r"""
        for n in 1 2 3 4 5 6 7 8; do
          (for i in 1 2 3 4 5 6 7 8; do
             printf '## %s.%s\n\\## é\n' $n $i | eukhed bundle remember triage - || exit 1
           done) & pids="$pids $!"
        done
        for pid in $pids; do wait $pid || exit 1; done
    """
    done = shell(home, script)
    assert done.returncode == 0, done
    texts = [note["text"] for note in home.json("bundle", "recall", "triage")]
    assert sorted(texts) == sorted(f"## {n}.{i}\n\\## é" for n in range(1, 9) for i in range(1, 9))
    assert len(home.json("bundle", "recall", "triage", "8.8")) == 1
