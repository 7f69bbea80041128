"""A cut process closes nothing: that its streams are collected unclosed says nothing, and stays here."""

import gc
from collections.abc import Iterator

import pytest

UNCLOSED = "ignore:Unclosed <MemoryObject:ResourceWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "world":
            item.add_marker(pytest.mark.filterwarnings(UNCLOSED))


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What this test left is collected before the next one begins."""
    yield
    gc.collect()
