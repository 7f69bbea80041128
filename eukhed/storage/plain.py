"""Bytes as JSON has them: text where they are UTF-8, else {"base64": ...}; and back, exactly."""

import base64
from typing import Any

from eukhed.errors import Invalid

Plain = str | dict[str, str]


def plain(data: bytes) -> Plain:
    """The bytes as a value that JSON can hold."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def raw(value: Any) -> bytes:
    """The bytes of a value that `plain` made.

    Raises:
        Invalid: it is neither text nor {"base64": ...}.
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and set(value) == {"base64"} and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except ValueError as error:
            raise Invalid(f"bad base64: {error}") from error
    raise Invalid(f"{value!r} is neither text nor base64")


def words(values: list[Any]) -> str:
    """An argv as one line for a person; what is not UTF-8 shows as replacement characters."""
    return " ".join(raw(value).decode(errors="replace") for value in values)
