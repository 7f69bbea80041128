"""Envelopes: a frame's item to its message, and back. Asks messages_law, decides nothing."""

from eukhed.wire import codec, messages_law
from eukhed.wire.messages import Message


def read(item: bytes) -> Message:
    """The message that a peer sent. BadFrame when it is none; its body stays sealed."""
    return messages_law.verdict(codec.decode(item))


def write(message: Message) -> bytes:
    """The item to send for a message. Invalid when a field has no form on the wire."""
    return codec.encode(message.to_item())
