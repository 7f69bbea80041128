"""A bundle made ready for a mint: what is refused, in which order, and what is hashed."""

from typing import Any

import pytest

from eukhed.bundles.bundle import BundleFiles, digests_of, hash_of, prepare
from eukhed.bundles.manifest import Manifest, encode
from eukhed.bundles.reading import Limits
from eukhed.errors import Invalid, TooLarge
from tests.bundles.machine import NAME, bundle

GOOD = Manifest(NAME, "sorts mail")
VECTOR = {"manifest.json": b"{}\n", "program.js": b"x", "memory.md": b""}


def test_the_hash_of_the_documented_files() -> None:
    assert hash_of(VECTOR) == "sha256:2d63c5d0e31df2a3a60c17da22f81c531dc8d51880eb584222f53944d93a9527"
    assert hash_of(dict(reversed(VECTOR.items()))) == hash_of(VECTOR)
    assert len({hash_of(VECTOR | {"memory.md": b" "}), hash_of(VECTOR), hash_of({"program.js": b"x"})}) == 3
    assert digests_of({"b": b"", "a": b"x"}).keys() == {"a", "b"}


def test_what_is_hashed_is_what_is_written() -> None:
    made = prepare(
        bundle("p", prompts={"a": b"1", "b.md": b"2"}, evals={"e": b"3"}, memory=b"m"), Limits(), None
    )
    assert made.name == NAME
    assert made.hash == hash_of(made.files)
    assert made.files == {
        "manifest.json": encode(GOOD.with_evals(["e"])),
        "program.js": b"p",
        "memory.md": b"m",
        "prompts/a.md": b"1",
        "prompts/b.md": b"2",
        "evals/e": b"3",
    }


def test_a_manifest_of_bytes_is_kept_byte_for_byte() -> None:
    raw = b'{"purpose":"x","more": [1.0],\r\n\t"name" : " triage ", "evals": ["not there"]}'
    made = prepare(BundleFiles(raw, b"p"), Limits(), None)
    assert (made.name, made.files["manifest.json"]) == (NAME, raw)


def parse(program: bytes) -> str | None:
    return None if program != b"bad" else "line 1: unexpected end"


ORDER: list[tuple[dict[str, Any], str]] = [
    ({"manifest": Manifest("Bad", "x")}, "no name of a bundle"),
    ({"manifest": Manifest(NAME, "")}, "no purpose"),
    ({"manifest": b"{"}, "manifest.json: "),
    ({"program": ""}, "program.js is empty"),
    ({"program": "bad"}, "does not parse: line 1"),
    ({"prompts": {"../x": b""}}, "no file of prompts/ can be called '../x'"),
    ({"evals": {"": b""}}, "no file of evals/"),
]


@pytest.mark.parametrize("number", range(len(ORDER)), ids=lambda n: ORDER[n][1][:20])
def test_refusals_come_in_this_order(number: int) -> None:
    """Each alone, and before all that come after it."""
    parts, why = ORDER[number]
    for later in [{}, *(item[0] for item in ORDER[number + 1 :])]:
        given = {**later, **parts}
        with pytest.raises(Invalid, match=why.replace("(", r"\(").replace(".", r"\.")):
            prepare(bundle(given.pop("program", "ok"), **given), Limits(), parse)


@pytest.mark.parametrize(
    "name", ["..", ".", "", " ", "a/b", "/a", "a\\b", "a\0", "a\nb", "\x7f", "\ud800", "x" * 254]
)
@pytest.mark.parametrize("folder", ["prompts", "evals"])
def test_names_that_are_no_file(folder: str, name: str) -> None:
    if (folder == "evals" and name == " ") or (folder == "evals" and len(name) > 100):
        return  # odd, but a file
    if folder == "prompts" and name in {"..", "."}:
        assert f"prompts/{name}.md" in prepare(bundle(prompts={name: b""}), Limits(), None).files  # "...md"
        return
    with pytest.raises(Invalid):
        prepare(bundle("x", **{folder: {name: b""}}), Limits(), None)


def test_two_names_that_become_one_are_refused() -> None:
    for one, other in (("a", "a.md"), (" a", "a"), ("a.md ", "a")):
        with pytest.raises(Invalid, match=r"two files would become prompts/a\.md"):
            prepare(bundle(prompts={one: b"1", other: b"2"}), Limits(), None)


def test_sizes_are_bounded_and_the_setting_is_named() -> None:
    limits = Limits(file_bytes=100, files=4)
    prepare(bundle("x" * 100, prompts={"a": b""}), limits, None)
    with pytest.raises(TooLarge, match=r"program\.js has 101 bytes; at most 100 .*bundle\.max_file"):
        prepare(bundle("x" * 101), limits, None)
    with pytest.raises(TooLarge, match=r"5 files; at most 4 .*bundle\.max_files"):
        prepare(bundle(prompts={"a": b"", "b": b""}), limits, None)
