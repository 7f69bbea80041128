"""How a job's runs are made: what its record keeps, what the file beside it keeps, what a fire asks for."""

from dataclasses import replace

import pytest

from eukhed.cron import manner
from eukhed.cron.actions import new_job
from eukhed.cron.jobs import Job
from eukhed.cron.manner import Manner
from eukhed.cron.records import job_of, job_text
from eukhed.cron.schedule import parse
from eukhed.errors import FileTrouble, Invalid
from tests.cron.machine import at
from tests.fakes.files import MemoryFiles

PATH = "/root/scheduled-jobs.json"
FULL = Manner(0o27, 5, ((7, 1024), (1, -1)), ("A", "B"), ("B",), ("/vars",), 1000, 20)


def made(kept: Manner | None = FULL, **more: object) -> Job:
    when = parse("every 30s", at(), "UTC", 1)
    job = new_job(
        "id", at(), when, cwd="/src", label="n", argv=["make", "ü"], more=kept.more() if kept else ()
    )
    return replace(job, **more)  # type: ignore[arg-type]  # fields of a job


def files(**content: str) -> MemoryFiles:
    found = MemoryFiles()
    if found.stat("/root") is None:
        found.make_directory("/root")
    for name, text in content.items():
        file = found.open(f"/{name}", write=True, create=True)
        file.append(text.encode())
        file.close()
    return found


def test_a_record_keeps_it_through_a_file() -> None:
    job = job_of(job_text(made()))
    assert job is not None
    assert manner.manner_of(job) == FULL
    assert manner.manner_of(made(None)) == Manner()


@pytest.mark.parametrize("text", ["[]", "1", '{"umask": "x"}', '{"limits": [1]}', '{"envFiles": 3}'])
def test_a_member_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="run"):
        manner.manner_of(made(None, more=(("run", text),)))


def test_a_fire_asks_for_a_detached_run_with_the_kept_values_and_files_of_now() -> None:
    disk = files(vars="A=file\nB=file\nC=file\n")
    manner.keep_environment(disk, PATH, "id", {b"A": b"kept", b"B": b"\xff=\n"})
    body = manner.run_of(disk, PATH, made())
    assert body["env"] == {b"A": b"file", b"B": b"\xff=\n", b"C": b"file"}, "what was named wins over files"
    assert (body["argv"], body["cwd"], body["umask"], body["nice"]) == (
        [b"make", "ü".encode()],
        b"/src",
        0o27,
        5,
    )
    assert (body["limits"], body["timeout_ms"], body["grace_ms"]) == ([[7, 1024], [1, -1]], 1000, 20)
    assert (body["tty"], body["stdin"], body["detach"], body["label"], body["job"]) == (
        False,
        "none",
        True,
        "n",
        "id",
    )


def test_a_job_of_another_program_gets_a_plain_environment() -> None:
    assert manner.run_of(files(), PATH, made(None))["env"] == manner.PLAIN_ENVIRONMENT


def test_values_that_are_gone_are_an_error_and_never_an_empty_environment() -> None:
    disk = files(vars="")
    with pytest.raises(FileTrouble, match=r"id\.env"):
        manner.run_of(disk, PATH, made())
    manner.keep_environment(disk, PATH, "id", {b"A": b"x"})
    with pytest.raises(FileTrouble, match="gone: B"):
        manner.run_of(disk, PATH, made())
    manner.forget_environment(disk, PATH, "id")
    manner.forget_environment(disk, PATH, "id")
    assert disk.stat(manner.environment_path(PATH, "id")) is None


def test_a_file_of_variables_that_is_gone_is_an_error() -> None:
    disk = files()
    manner.keep_environment(disk, PATH, "id", {b"A": b"x", b"B": b"y"})
    with pytest.raises(FileTrouble, match="/vars"):
        manner.run_of(disk, PATH, made())


def test_a_prompt_makes_no_run_of_a_command() -> None:
    with pytest.raises(Invalid, match="takes no text"):
        manner.run_of(files(), PATH, made(None, argv=None, prompt="hello"))
