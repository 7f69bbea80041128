"""JSON Schemas of a bundle's input and output, by a library (jsonschema-rs)."""

from typing import Any, Final

DRAFTS: Final = frozenset(
    f"{base}{end}"
    for base, ends in (
        ("http://json-schema.org/draft-04/schema", ("", "#")),
        ("http://json-schema.org/draft-06/schema", ("", "#")),
        ("http://json-schema.org/draft-07/schema", ("", "#")),
        ("https://json-schema.org/draft/2019-09/schema", ("", "#")),
        ("https://json-schema.org/draft/2020-12/schema", ("", "#")),
    )
    for end in ends
)


def schema_fault(schema: dict[str, Any]) -> str | None:
    """Why this is no schema of an object, in one line; None if it is one. Nothing is fetched for it."""
    import jsonschema_rs  # noqa: PLC0415 - 15 MB of code, for whoever has a schema to check

    if schema.get("type", "object") != "object":
        return 'its type is not "object"'
    draft = schema.get("$schema")
    if draft is not None and draft not in DRAFTS:
        return f"its $schema {draft!r} is none of the known drafts"
    try:
        jsonschema_rs.meta.validate(schema)
        jsonschema_rs.validator_for(schema, retriever=_refuse)
    except ValueError as error:  # ValidationError and ReferencingError are of it
        return str(getattr(error, "message", error)).partition("\n")[0]
    return None


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not in the schema, and nothing is fetched")
