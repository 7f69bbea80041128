"""Names that the supervisor gives: UUID version 7 (RFC 9562), and the time that such a name holds."""

from eukhed.errors import Invalid
from eukhed.timing import WallMs


def uuid7(now: WallMs, random: bytes) -> str:
    """Return the text form of a UUIDv7 of this time and these ten random bytes."""
    assert len(random) == 10
    value = (now & (1 << 48) - 1) << 80 | int.from_bytes(random, "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def made_at(name: str) -> WallMs:
    """The wall time in a UUIDv7; Invalid for any other text."""
    digits = name.replace("-", "")
    dashes = [place for place, letter in enumerate(name) if letter == "-"]
    hexadecimal = len(digits) == 32 and all(letter in "0123456789abcdef" for letter in digits)
    if not hexadecimal or dashes != [8, 13, 18, 23] or digits[12] != "7":
        raise Invalid(f"{name!r} is no UUIDv7")
    return WallMs(int(digits[:12], 16))
