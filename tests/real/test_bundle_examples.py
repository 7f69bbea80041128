"""The examples that come with the package, run: without a model, and with a provider that answers by rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from eukhed.bundles.stores import PACKAGED
from tests.bundles.machine import tree
from tests.bundles.packaged import names
from tests.real.home import Home

PROVIDER = Path(__file__).parent.parent.parent / "examples" / "provider.py"


def evals(name: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(Path(PACKAGED, name, "v1", "evals").iterdir())]


def provided(home: Home) -> None:
    """Name the provider in config.toml."""
    config = home.base / "config.toml"
    config.write_text(f'[bundle]\nai = {{ provider = "command", command = ["python3", "{PROVIDER}"] }}\n')
    home.env["EUKHED_CONFIG"] = str(config)


def ran(home: Home, name: str, given: Any) -> Any:
    """What a bundle returns for an input."""
    file = home.base / "input.json"
    file.write_text(json.dumps(given))
    return json.loads(home.ok("bundle", "run", name, "--input", str(file)))


@pytest.mark.parametrize("name", names())
def test_an_example_does_what_its_evals_say(home: Home, name: str) -> None:
    provided(home)
    before = tree(PACKAGED)
    for one in evals(name):
        assert ran(home, name, one["input"]) == one["output"]
    told = home.json("bundle", "last-run", name)
    assert (told["finished"], told["version"]) == (True, 1)
    assert "last run: ok, now" in home.ok("bundle", "lineage", name)
    assert tree(PACKAGED) == before, "a package is only read"
    home.shut_down()


def test_the_example_that_asks_a_model_remembers(home: Home) -> None:
    provided(home)
    mails = [
        {"from": "ada@example.org", "subject": "The server is down"},
        {"from": "bob@example.org", "subject": "Minutes of the meeting"},
    ]
    sorted_mails = ran(home, "example-mail", {"mails": mails})["sorted"]
    assert [mail["folder"] for mail in sorted_mails] == ["now", "later"]
    assert ran(home, "example-mail", {"mails": mails[:1]})["sorted"][0]["folder"] == "now"
    notes = [note["text"] for note in home.json("bundle", "recall", "example-mail")]
    assert notes == [
        "ada@example.org was urgent: The server is down",
        "The weekly report comes on Fridays, and can wait until Monday.",
    ]
    assert Path(home.root, "subharnesses", "example-mail", "memory.md").is_file()
    home.shut_down()


def test_without_a_provider_it_says_how_to_name_one(home: Home) -> None:
    given = home.base / "input.json"
    given.write_text(json.dumps(evals("example-mail")[0]["input"]))
    done = home.run("bundle", "run", "example-mail", "--input", str(given))
    assert done.returncode == 2, done
    assert b"config.toml" in done.stderr
    home.shut_down()
