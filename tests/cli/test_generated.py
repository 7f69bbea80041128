"""What is generated is what its sources say; the scripts of the shells are ones that a shell takes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.generated import pages


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_it_is_what_its_sources_say(path: Path) -> None:
    assert path.read_text() == pages()[path], "python -m tests.cli.generated"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    script = next(path for path in pages() if path.name == f"eukhed.{shell}")
    subprocess.run([found, "-n", script], check=True)


def completed(line: str) -> set[str]:
    words = line.split(" ")
    script = next(path for path in pages() if path.name == "eukhed.bash")
    asked = (
        f"source {script}; COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; "
        "_eukhed; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_bash_completes_commands_flags_and_nothing_of_the_run_s_own() -> None:
    assert completed("eukhed sta") == {"start", "state", "status"}
    assert completed("eukhed run --det") == {"--detach"}
    assert completed("eukhed cr") == {"cron"}
    assert completed("eukhed cron ca") == {"cancel"}
    assert completed("eukhed cron add --na") == {"--name"}
    assert completed("eukhed run -- --det") == set()
