"""Manifests: what is read, what is refused and why, what is written."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.bundles.manifest import BadManifest, Guard, Manifest, decode, encode
from eukhed.bundles.schema import schema_fault

SCHEMA = {"type": "object", "properties": {"company": {"type": "string"}}, "required": ["company"]}
FULL = Manifest(
    name="triage",
    purpose="sorts mail <&>",
    cues=("mail", "inbox"),
    input=SCHEMA,
    output={"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
    whitelist=("read", "bash"),
    guards=(
        Guard("file", file="Makefile"),
        Guard("tool", tool="bash", because="needs a shell"),
        Guard("field", field="company", pattern="ltd"),
        Guard("judgement", question="is it mail?"),
    ),
    deadline_floor=900_000_000_000,
    deadline_step=60_000_000_000,
    deadline_per_tokens=50_000,
    evals=("a", "b"),
    fallback="linear",
    more=(("prior_anchors", "two hours"), ("x", [1.5, None])),
)


def document(**members: Any) -> bytes:
    return json.dumps({"name": "triage", "purpose": "sorts mail"} | members).encode()


def test_a_manifest_is_written_in_order_and_read_back() -> None:
    data = encode(FULL)
    assert list(json.loads(data)) == [
        *("name", "purpose", "cues", "input", "output", "whitelist", "guards"),
        *(
            "deadline_floor",
            "deadline_step",
            "deadline_per_tokens",
            "evals",
            "fallback",
            "prior_anchors",
            "x",
        ),
    ]
    assert decode(data).with_evals(FULL.evals) == FULL
    assert encode(Manifest("a", "b")) == b'{\n  "name": "a",\n  "purpose": "b"\n}\n'
    assert "<&>" in data.decode()


def test_provenance_and_evals_are_not_believed() -> None:
    read = decode(document(provenance="built-in", evals=["x"]))
    assert (read.provenance, read.evals, read.more) == ("", (), ())
    assert b"provenance" not in encode(FULL.stamped("yours"))


def test_null_is_absent_and_a_padded_name_is_trimmed() -> None:
    assert decode(document(cues=None, input=None, guards=None, fallback=None, name=" triage ")) == Manifest(
        "triage", "sorts mail"
    )


REFUSED: list[tuple[bytes, str]] = [
    (b"", "Expecting value"),
    (b"[]", "not a JSON object"),
    (b"\xff", "utf-8"),
    (b"\xef\xbb\xbf{}", "BOM"),
    (b'{"name":"a","purpose":"b","name":"c"}', "twice"),
    (b'{"name":"a","purpose":"b","x":{"y":1,"y":2}}', "twice"),
    (b'{"name":"a","purpose":"b","x":NaN}', "NaN"),
    (b'{"name":"a","purpose":"\\ud800"}', "surrogate"),
    (b'{"name":"a","purpose":"b"} x', "Extra data"),
    (b"[" * 100_000, "deep"),
    (b'{"name":"a","purpose":"b","x":' + b"1" * 5000 + b"}", "digit"),
    (document(name=""), "no name"),
    (document(name="Triage"), "no name of a bundle"),
    (document(name="a" * 65), "no name of a bundle"),
    (document(name=7), "name is not a string"),
    (document(purpose=" \n"), "no purpose"),
    (document(purpose=None), "no purpose"),
    (document(cues="mail"), "cues is not an array"),
    (document(cues=[1]), "cues is not an array"),
    (document(whitelist=[" "]), "a tool without a name"),
    (document(input=[]), "input is not a schema"),
    (document(input=True), "input is not a schema"),
    (document(input={"type": "array"}), 'not "object"'),
    (document(output={"type": "object", "properties": 3}), "output is no schema"),
    (document(output={"pattern": "("}), "output is no schema"),
    (document(output={"$ref": "#/nowhere"}), "output is no schema"),
    (document(output={"$ref": "http://127.0.0.1:1/x"}), "nothing is fetched"),
    (document(output={"$schema": "http://127.0.0.1:1/x"}), "none of the known drafts"),
    (document(output={"$schema": 7}), "none of the known drafts"),
    (document(guards={}), "not an array"),
    (document(guards=[7]), "guard 1 is not an object"),
    (document(guards=[{"kind": "smell"}]), "no known kind"),
    (document(guards=[{}]), "no known kind"),
    (document(guards=[{"kind": "file"}]), "has no file"),
    (document(guards=[{"kind": "tool", "tool": " "}]), "has no tool"),
    (document(guards=[{"kind": "field", "field": "a"}]), "has no pattern"),
    (document(guards=[{"kind": "judgement"}]), "has no question"),
    (document(guards=[{"kind": "file", "file": 1}]), "not a string"),
    (document(guards=[{"kind": "judgement", "question": "?"}] * 2), "more than one judgement"),
    (document(deadline_floor=-1), "deadline_floor"),
    (document(deadline_step=1.5), "deadline_step"),
    (document(deadline_per_tokens=True), "deadline_per_tokens"),
    (document(fallback=[]), "fallback"),
]


@pytest.mark.parametrize(
    ("data", "why"), REFUSED, ids=lambda item: item[:40] if isinstance(item, str) else ""
)
def test_what_is_refused_says_why(data: bytes, why: str) -> None:
    with pytest.raises(BadManifest, match=why.replace("(", r"\(")):
        decode(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([*Manifest.__slots__, "type", "x"])


@given(
    st.dictionaries(
        KEYS, JSON | st.sampled_from(["triage", SCHEMA, [{"kind": "file", "file": "a"}]]), max_size=8
    )
)
@example({"input": {}})
def test_any_document_is_a_manifest_or_refused(members: dict[str, Any]) -> None:
    try:
        read = decode(json.dumps({"name": "a", "purpose": "b"} | members).encode())
    except BadManifest:
        return
    assert decode(encode(read)) == read


@given(st.binary(max_size=40))
def test_any_bytes_are_a_manifest_or_refused(data: bytes) -> None:
    with pytest.raises(BadManifest):
        decode(data)


@pytest.mark.parametrize(
    "schema", [{}, SCHEMA, {"$ref": "#"}, {"$schema": "https://json-schema.org/draft/2020-12/schema"}]
)
def test_schemas_of_objects(schema: dict[str, Any]) -> None:
    assert schema_fault(schema) is None
