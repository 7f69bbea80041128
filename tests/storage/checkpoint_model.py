"""When a checkpoint is used, said over the whole log instead of its edges."""


def use(log: bytes, made_from: bytes, *, ours: bool) -> bool:
    """`made_from` is the log up to the checkpoint's offset, when it was written."""
    return ours and len(made_from) > 0 and log[: len(made_from)] == made_from


def due(log_sizes: list[int], last_bytes: int) -> bool:
    """The log's size at the last checkpoint, and now."""
    grown = log_sizes[-1] - log_sizes[0]
    return grown >= 4 * 1024 * 1024 and grown >= 2 * last_bytes
