"""The commands on bundles, in this process: what they print, how they refuse, and what they do not load."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from eukhed.bundles import stores
from eukhed.bundles.records import RunNote, Version
from eukhed.bundles.store import BundleStore
from eukhed.cli import main
from eukhed.cli.bundle_mint import parent_of
from eukhed.errors import Invalid
from eukhed.host.blocking import BlockingHost
from eukhed.timing import WallMs
from tests.bundles.machine import tree

NEVER = {
    "anyio", "asyncio", "importlib.metadata", "jsonschema_rs", "logging", "msgspec", "multiprocessing", "platformdirs",
    "rich", "socket", "subprocess", "tomllib", "uvloop", "eukhed.client", "eukhed.storage", "eukhed.wire",
}  # fmt: skip


class Shop:
    """A scratch home and repository, a bundle as somebody wrote it, and the command line."""

    def __init__(self, base: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.capfd = capfd
        self.repository, self.state = base / "shop", base / "state"
        (self.repository / ".git").mkdir(parents=True)
        self.source = self.repository / "triage"
        self.write("function run(input) { return 1 }\n")

    def write(self, program: str, **manifest: Any) -> None:
        (self.source / "prompts").mkdir(parents=True, exist_ok=True)
        told = {"name": "triage", "purpose": "sorts mail"} | manifest
        (self.source / "manifest.json").write_text(json.dumps(told))
        (self.source / "program.js").write_text(program)
        (self.source / "prompts" / "ask.md").write_text("Who must act?\n")

    def call(self, *words: str) -> tuple[int, str, str]:
        status = main(["bundle", *words])
        out, err = self.capfd.readouterr()
        assert "Traceback" not in err
        return status, out, err

    def ok(self, *words: str) -> str:
        status, out, err = self.call(*words)
        assert status == 0, (words, out, err)
        return out

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def error(self, *words: str) -> dict[str, Any]:
        status, out, err = self.call(*words, "--json")
        told: dict[str, Any] = json.loads(err.splitlines()[-1])["error"]
        assert (status, out) == (told["exit"], "")
        return told

    def mint(self, *more: str) -> Any:
        return self.json("mint", "triage", *more)

    def three(self) -> list[Any]:
        """v1, v2 of another program, v3 of another prompt."""
        made = [self.mint()]
        self.write("function run(input) { return 2 }\n")
        made.append(self.mint("--parent", made[0]["hash"], "--why", "two is better"))
        (self.source / "prompts" / "ask.md").write_text("Who must act, and when?\n")
        made.append(self.mint("--parent", made[1]["hash"], "--why", "asks for the date"))
        return made

    @property
    def home(self) -> Path:
        return self.state / "subharnesses"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shop:
    made = Shop(tmp_path, capfd)
    monkeypatch.setenv("EUKHED_HOME", str(made.state))
    monkeypatch.setenv("EUKHED_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(made.repository)
    monkeypatch.setattr(stores, "PACKAGED", str(tmp_path / "package"))
    return made


# mint


def test_a_mint_prints_the_record_as_it_is_on_the_disk(shop: Shop) -> None:
    made = shop.three()
    assert [one["version"] for one in made] == [1, 2, 3]
    for one in made:
        on_disk = json.loads((shop.home / "triage" / f"v{one['version']}.json").read_text())
        assert one == on_disk | {"name": "triage", "minted": True}
    assert "parent" not in made[0]
    assert (made[2]["parent"], made[2]["parent_version"], made[2]["why"]) == (
        made[1]["hash"],
        2,
        "asks for the date",
    )


def test_nothing_changed_is_the_head(shop: Shop) -> None:
    first = shop.mint()
    before = tree(str(shop.state))
    assert shop.mint("--parent", first["hash"], "--why", "again") == first | {"minted": False}
    out, err = shop.call("mint", "triage", "--parent", first["hash"], "--why", "again")[1:]
    assert out == f"triage v1 {first['hash']}\n"
    assert err == "eukhed: nothing changed since v1, so nothing was minted\n"
    assert tree(str(shop.state)) == before


def test_a_refused_mint_says_how_to_go_on(shop: Shop) -> None:
    first = shop.mint()
    shop.write("function run(input) { return 2 }\n")
    short = first["hash"][7:15]
    go_on = ["eukhed", "bundle", "mint", "triage", "--parent", short, "--why", "what changed"]
    before = tree(str(shop.state))
    for words, code in (
        ((), "parent_needed"),
        (("--parent", "sha256:" + "0" * 64, "--why", "what changed"), "stale_parent"),
        (("--parent", "0000", "--why", "what changed"), "stale_parent"),
        (("--parent", first["hash"]), "why_needed"),
    ):
        told = shop.error("mint", "triage", *words)
        assert (told["code"], told["exit"], told["head"], told["head_version"]) == (code, 1, first["hash"], 1)
        assert told["next"] == [["eukhed", "bundle", "lineage", "triage"], go_on]
    assert tree(str(shop.state)) == before
    assert main(go_on[1:]) == 0
    shop.capfd.readouterr()
    told = shop.error("mint", "triage", "--layer", "project", "--parent", short, "--why", "x")
    assert (told["code"], told["next"]) == (
        "stale_parent", [["eukhed", "bundle", "mint", "triage", "--layer", "project"]],
    )  # fmt: skip


def test_a_mint_meets_a_lock(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shop.mint()
    shop.write("function run(input) { return 2 }\n")
    lock = BlockingHost().files.open(str(shop.home / "triage" / ".mint.lock"), write=True)
    assert lock.lock(exclusive=True)
    before, began = tree(str(shop.state)), time.monotonic()
    told = shop.error("mint", "triage", "--parent", first["hash"], "--why", "x")
    assert time.monotonic() - began < 2.5
    assert (told["code"], told["exit"], told["next"]) == (
        "mint_busy",
        3,
        [["eukhed", "bundle", "mint", "triage"]],
    )
    assert tree(str(shop.state)) == before
    lock.close()


@pytest.mark.parametrize("text", ["{first}", "{hex}", "{short}", "  {short} ", "sha256:{short}", "{upper}"])
def test_a_parent_is_named_by_its_first_digits(shop: Shop, text: str) -> None:
    first = shop.mint()
    digits = first["hash"][7:]
    shop.write("function run(input) { return 2 }\n")
    named = text.format(first=first["hash"], hex=digits, short=digits[:4], upper=digits[:9].upper())
    assert shop.mint("--parent", named, "--why", "x")["version"] == 2


def test_digits_that_several_begin_with_are_refused() -> None:
    known = [
        Version(1, "sha256:" + "a" * 64, WallMs(0)),
        Version(2, "sha256:aaaa" + "b" * 60, WallMs(0)),
    ]
    with pytest.raises(Invalid, match="several"):
        parent_of("aaaa", known)
    assert parent_of("aaaaa", known) == known[0].hash
    assert parent_of("", known) == ""
    assert parent_of("v1", known) == "sha256:v1"
    assert parent_of("bbbb", known) == "bbbb"


def test_what_is_no_bundle_is_refused_and_nothing_is_made(shop: Shop) -> None:
    assert shop.error("mint", "nowhere")["code"] == "file_trouble"
    shop.write("", name="triage")
    assert shop.error("mint", "triage")["code"] == "invalid"
    shop.write("x", name="../up")
    assert "no name of a bundle" in shop.error("mint", "triage")["message"]
    shop.write("x")
    (shop.source / "notes.txt").write_text("x")
    assert shop.error("mint", "triage")["code"] == "invalid"
    assert not shop.state.exists()


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("function run(input) {\n  return (\n}", "line 3: SyntaxError"),
        ("let a;\nlet a;", "line 2: SyntaxError"),
        ("\u2028 x = `${", "SyntaxError"),
        ("const {a} = {}; async function run() { for await (const b of a) yield }", None),
    ],
)
def test_a_program_that_does_not_parse_is_refused_with_its_line(
    shop: Shop, program: str, told: str | None
) -> None:
    shop.write(program)
    if told is None:
        assert shop.mint()["version"] == 1
        return
    error = shop.error("mint", "triage")
    assert error["code"] == "invalid"
    assert error["message"].startswith("program.js does not parse: ")
    assert told in error["message"]
    assert not shop.state.exists()


def test_a_program_that_is_parsed_is_not_run(shop: Shop) -> None:
    shop.write("while (true) {}")
    assert shop.mint()["version"] == 1
    (shop.source / "program.js").write_bytes(b"\xff")
    assert "no UTF-8" in shop.error("mint", "triage", "--parent", "0000", "--why", "x")["message"]


def test_settings_bound_a_bundle(shop: Shop) -> None:
    Path(os.environ["EUKHED_CONFIG"]).write_text('[bundle]\nmax_file = "1 KiB"\nmax_files = 4\n')
    assert shop.mint()["version"] == 1
    shop.write("x" * 1025)
    told = shop.error("mint", "triage")
    assert (told["code"], told["limit"]) == ("too_large", 1024)
    shop.write("x")
    (shop.source / "prompts" / "more.md").write_text("x")
    assert shop.error("mint", "triage")["limit"] == 4


# lists


def test_lists(shop: Shop) -> None:
    status, out, err = shop.call("list")
    assert (status, out, err) == (0, "", "eukhed: no bundles; eukhed bundle mint DIR makes one\n")
    assert shop.json("list") == []
    made = shop.three()[2]
    BundleStore(BlockingHost(), str(shop.home)).record_run(
        "triage", RunNote(WallMs(int(time.time() * 1000)), 3, finished=True, cost_usd=0.25)
    )
    (row,) = shop.json("list")
    assert row["last_run"].pop("at")
    assert row == {key: value for key, value in made.items() if key != "minted"} | {
        "purpose": "sorts mail", "cues": [], "provenance": "yours", "hides": [],
        "last_run": {"version": 3, "finished": True, "cost_usd": 0.25},
    }  # fmt: skip
    header, line = shop.ok("list").splitlines()
    assert header.split() == ["NAME", "VERSION", "HASH", "MADE", "LAST", "RUN", "FROM", "PURPOSE"]
    assert line.split()[:3] == ["triage", "v3", made["hash"][7:15]]
    assert line.endswith("ok, now   yours  sorts mail")
    assert shop.ok("list", "--no-header").splitlines() == [line]


def test_layers_and_what_they_hide(shop: Shop) -> None:
    """layers_first_wins: the project's before the user's; a broken one is a notice, and stands in nobody's way."""
    shop.mint()
    err = shop.call("mint", "triage", "--layer", "project")[2]
    assert err == ""
    assert (shop.repository / ".eukhed" / "subharnesses" / "triage" / "v1").is_dir()
    (row,) = shop.json("list")
    assert (row["provenance"], row["hides"]) == ("from this project", ["yours"])
    assert "from this project, hides yours" in shop.ok("list")
    shop.write("another")
    err = shop.call("mint", "triage", "--parent", row["hash"], "--why", "x")[2]
    assert err == "eukhed: another triage (from this project) answers for the name before this one\n"
    assert shop.json("show", "triage", "--layer", "home")["version"] == 2
    assert shop.json("show", "triage")["version"] == 1
    program = shop.repository / ".eukhed/subharnesses/triage/v1/program.js"
    program.unlink()
    status, out, err = shop.call("list", "--no-header")
    assert (status, out.split()[:2], err.count("\n")) == (0, ["triage", "v2"], 1)
    assert err.startswith(f"eukhed: bundle store: triage is left out: {program}: ")
    status, out, err = shop.call("show", "triage", "--json")
    assert json.loads(out)["provenance"] == "yours"
    assert json.loads(err)["notice"].startswith(
        "bundle store: triage of the layer from this project is left out"
    )
    assert shop.call("list", "-q")[2] == ""
    status, out, _ = shop.call("verify", "triage", "--json")
    assert status == 1
    assert [one["provenance"] for one in json.loads(out)["drift"]] == ["from this project"]


def test_lineage_reads_like_a_log(shop: Shop) -> None:
    made = shop.three()
    place = shop.home / "triage"
    record = json.loads((place / "v3.json").read_text()) | {"version": 4}
    (place / "v4.json").write_text(json.dumps(record))
    store = BundleStore(BlockingHost(), str(shop.home))
    store.record_run("triage", RunNote(WallMs(int(time.time() * 1000)), 2, why="out of calls"))
    status, out, err = shop.call("lineage", "triage")
    assert (status, err) == (0, "")
    when = time.strftime(" %b ", time.localtime())
    header, *lines = out.splitlines()
    assert header.split() == ["VERSION", "HASH", "MADE", "PARENT", "WHY"]
    first, second, third = (one["hash"][7:15] for one in made)
    assert lines[0].startswith("  v4     dead      ")
    assert lines[0].endswith(
        "-         the mint was cut before it was complete; never visible, number not used again"
    )
    wanted = [(f"● v3     {third}  ", f"{second}  asks for the date"), (f"● v2     {second}  ", f"{first}  two is better"),
              (f"● v1     {first}  ", "-         first version")]  # fmt: skip
    for line, (start, end) in zip(lines[1:], wanted, strict=True):
        assert line.startswith(start)
        assert end in line
        assert when in line
    assert lines[2].endswith("last run: incomplete, now")
    status, out, err = shop.call("lineage", "triage", "--json")
    assert json.loads(out) == [
        {key: value for key, value in one.items() if key not in {"name", "minted"}} for one in reversed(made)
    ]
    assert json.loads(err) == {
        "notice": "bundle store: version 4 of triage was claimed and never completed; skipped"
    }


def test_show(shop: Shop) -> None:
    shop.write("x", cues=["mail"], whitelist=["fetch"], fallback="command", later=True, deadline_floor=10**9,
               guards=[{"kind": "field", "field": "a", "pattern": "b", "because": "c"}])  # fmt: skip
    made = shop.mint()
    shown = dict(
        line.split(maxsplit=1) for line in shop.ok("show", "triage").splitlines() if "file " not in line
    )
    assert shown["version"] == "v1"
    assert shown["hash"] == made["hash"]
    assert {key: shown[key] for key in ("cues", "tools", "fallback", "deadline", "from", "guard")} == {
        "cues": "mail", "tools": "fetch", "fallback": "command", "deadline": "1s", "from": "yours", "guard": "field a b: c",
    }  # fmt: skip
    assert "file       program.js, 1 B" in shop.ok("show", "triage")
    told = shop.json("show", "triage", "--version", "v1")
    assert told["manifest"]["later"] is True
    assert (told["manifest"]["provenance"], told["head"], told["last_run"]) == ("yours", 1, None)
    assert told["sizes"]["program.js"] == 1
    assert Path(told["directory"], "program.js").read_text() == "x"


def test_no_such_thing_is_5_and_has_a_next_step(shop: Shop) -> None:
    shop.mint()
    for words in (("show",), ("lineage",), ("diff",), ("verify",), ("recall",), ("last-run",)):
        told = shop.error(*words, "triaje")
        assert (told["code"], told["exit"], told["near"]) == ("not_found", 5, ["triage"])
        assert told["next"] == [["eukhed", "bundle", "list"]]
    assert shop.error("remember", "triaje", "x")["exit"] == 5
    assert not (shop.home / "triaje").exists()
    assert shop.error("revert", "triaje", "1", "--why", "x", "--yes")["exit"] == 5
    for line in ("show triage --version 7", "diff triage 1 7", "revert triage 7 --yes"):
        told = shop.error(*line.split())
        assert (told["exit"], told["next"]) == (5, [["eukhed", "bundle", "lineage", "triage"]])
    for name in ("../triage", "a/b", "", ".", "Triage", "x" * 65, "v1\n"):
        for command in ("show", "lineage", "verify", "recall", "last-run"):
            assert shop.error(command, name)["code"] == "invalid"
    assert shop.call("show", "triage", "--version", "x")[0] == 2


# diff, revert, verify


def test_diff(shop: Shop) -> None:
    made = shop.three()
    status, out, err = shop.call("diff", "triage")
    assert (status, err) == (0, "eukhed: triage v2 to v3: 1 file changed\n")
    assert out.splitlines() == [
        "changed prompts/ask.md", "--- prompts/ask.md", "+++ prompts/ask.md", "@@ -1 +1 @@",
        "-Who must act?", "+Who must act, and when?",
    ]  # fmt: skip
    told = shop.json("diff", "triage", "v1", "3")
    assert (told["name"], told["old"], told["new"]) == ("triage", 1, 3)
    assert [(one["path"], one["what"]) for one in told["changes"]] == [
        ("program.js", "changed"),
        ("prompts/ask.md", "changed"),
    ]
    assert shop.call("diff", "triage", "2", "2")[1:] == ("", "eukhed: triage v2 to v2: nothing changed\n")
    assert "\x1b[32m+Who" in shop.ok("diff", "triage", "--color", "always")
    told = shop.error("diff", "triage", "--layer", "project")
    assert told["exit"] == 5
    (shop.source / "evals").mkdir()
    (shop.source / "evals" / "raw").write_bytes(b"\xff")
    shop.mint("--parent", made[2]["hash"], "--why", "raw")
    assert shop.ok("diff", "triage") == "added evals/raw (not text)\n"


def test_a_first_version_was_made_from_none(shop: Shop) -> None:
    shop.mint()
    assert shop.error("diff", "triage")["next"] == [["eukhed", "bundle", "lineage", "triage"]]


def test_revert_asks_shows_and_mints(shop: Shop) -> None:
    made = shop.three()
    before = tree(str(shop.state))
    told = shop.error("revert", "triage", "1", "--why", "worse")
    again = ["eukhed", "bundle", "revert", "triage", "1", "--why", "worse", "--yes"]
    assert (told["code"], told["exit"], told["next"]) == ("invalid", 2, [again])
    assert shop.json("revert", "triage", "1", "--why", "worse", "--dry-run") == {
        "name": "triage", "from": 3, "to": 1, "minted": False,
        "changes": [{"path": "program.js", "what": "changed"}, {"path": "prompts/ask.md", "what": "changed"}],
    }  # fmt: skip
    assert shop.ok("revert", "triage", "1", "--dry-run").splitlines() == [
        "changed program.js",
        "changed prompts/ask.md",
    ]
    assert shop.error("revert", "triage", "1", "--yes")["code"] == "why_needed"
    assert tree(str(shop.state)) == before
    assert main(again[1:]) == 0
    shop.capfd.readouterr()
    head = shop.json("show", "triage")
    assert (head["version"], head["hash"], head["why"], head["parent_version"]) == (
        4,
        made[0]["hash"],
        "worse",
        3,
    )
    told = shop.json("revert", "triage", "1", "--why", "again", "--yes")
    assert (told["version"], told["minted"]) == (4, False)
    assert shop.json("verify", "triage") == {"name": "triage", "ok": True, "versions": 4, "drift": []}


def test_a_packaged_bundle_is_not_reverted(shop: Shop) -> None:
    shop.mint()
    shutil.copytree(shop.home, stores.PACKAGED)
    told = shop.error("revert", "triage", "1", "--why", "x", "--yes")
    assert (told["code"], told["exit"]) == ("invalid", 2)
    assert "only read" in told["message"]


def test_verify_names_every_drifted_file(shop: Shop) -> None:
    shop.three()
    assert shop.call("verify", "triage") == (0, "", "eukhed: triage: 3 versions, all as minted\n")
    (shop.home / "triage/v2/program.js").write_text("meddled")
    (shop.home / "triage/v2/prompts/ask.md").unlink()
    status, out, err = shop.call("verify", "triage")
    assert status == 1
    assert [line.split() for line in out.splitlines()] == [
        ["v2", "changed", "program.js"],
        ["v2", "missing", "prompts/ask.md"],
    ]
    assert err == "eukhed: triage: 2 of its files are not as they were minted\n"
    told = shop.error("revert", "triage", "2", "--why", "x", "--yes")
    assert (told["code"], told["next"]) == ("broken_bundle", [["eukhed", "bundle", "verify", "triage"]])


# notes


def test_what_it_has_learnt(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop.source / "memory.md").write_text("known from the start\n")
    shop.mint()
    assert shop.call("remember", "triage", "reports come on Fridays") == (0, "", "")
    assert shop.json("remember", "triage", "## two\nlines")["remembered"] is True
    assert shop.call("remember", "triage", " ") == (
        0,
        "",
        "eukhed: a blank note is none; nothing was written\n",
    )
    assert [note["text"] for note in shop.json("recall", "triage")] == [
        "## two\nlines", "reports come on Fridays", "known from the start",
    ]  # fmt: skip
    assert [note["at"] for note in shop.json("recall", "triage", "START")] == [None]
    lines = shop.ok("recall", "triage").splitlines()
    assert lines[0].endswith("  ## two")
    assert lines[1].strip() == "lines"
    assert lines[3] == "-  known from the start"
    assert shop.call("recall", "triage", "nowhere") == (0, "", "eukhed: no note has it\n")
    Path(shop.home / "triage/memory.md").write_text("## by hand\n\nit\x1b[31m\n")
    assert shop.ok("recall", "triage") == "by hand  it?[31m\n"
    read, write = os.pipe()
    os.write(write, b"from a\npipe\n")
    os.close(write)
    with os.fdopen(read, "r", encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        shop.ok("remember", "triage", "-")
    assert shop.json("recall", "triage", "pipe")[0]["text"] == "from a\npipe"


def test_how_it_last_ended(shop: Shop) -> None:
    shop.mint()
    assert shop.call("last-run", "triage") == (0, "", "eukhed: triage never ran\n")
    assert shop.json("last-run", "triage") is None
    store = BundleStore(BlockingHost(), str(shop.home))
    store.record_run("triage", RunNote(WallMs(int(time.time() * 1000)), 1, why="out of calls", cost_usd=0.5))
    assert shop.ok("last-run", "triage") == "incomplete, now  v1  $0.5\nout of calls\n"
    told = shop.json("last-run", "triage")
    assert told.pop("at").endswith("Z")
    assert told == {"version": 1, "finished": False, "why": "out of calls", "cost_usd": 0.5}
    (shop.home / "triage/last-run.json").write_text("?")
    assert shop.call("last-run", "triage")[2].count("cannot be read") == 1


# what is loaded

SCRIPT = (
    "import sys\n"
    "from eukhed.cli import main\n"
    "status = main()\n"
    "loaded = sorted(sys.modules)\n"
    "import json\n"
    "sys.stderr.write(json.dumps([status, loaded]))\n"
)


@pytest.mark.parametrize("words", ["list", "show triage", "lineage triage", "verify triage", "remember triage x",
                                   "recall triage", "mint triage --parent {hash} --why more", "last-run triage"])  # fmt: skip
def test_no_command_on_bundles_loads_what_it_does_not_need(shop: Shop, words: str) -> None:
    first = shop.mint()
    shop.write("more")
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, "bundle", *words.format(**first).split()],
        capture_output=True,
        check=True,
    )
    status, names = json.loads(process.stderr.splitlines()[-1])
    assert status == 0, process.stderr
    if words == "list":  # what comes with the package has schemas
        never, most = NEVER - {"jsonschema_rs", "socket"}, 190
    else:
        never, most = NEVER - ({"logging"} if words.startswith("mint") else set()), 170  # threads flush
    assert never.isdisjoint(names), never & set(names)
    assert len(names) <= most, names
