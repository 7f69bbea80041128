"""Command ids: UUID version 7 (RFC 9562), so that a daemon can tell how old a repeat is."""

import os
import time


def command_id() -> str:
    """Return a fresh id, in the 36 characters of its text form."""
    stamp = time.time_ns() // 1_000_000
    digits = int.from_bytes(os.urandom(10), "big")
    value = (stamp & (1 << 48) - 1) << 80 | digits
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
