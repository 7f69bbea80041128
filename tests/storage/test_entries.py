"""Entries in columns are a mapping like any other: against a dict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage.entries import Entries, Rows
from eukhed.storage.records import Entry

ROWS = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.integers(1, 3),
        st.sampled_from(["note", "output", "user"]),
        st.none() | st.integers(1, 40),
        st.none() | st.integers(1, 40),
    ),
    unique_by=lambda row: row[0],
)


@given(ROWS)
def test_entries_are_a_dict(rows: list[tuple[int, int, str, int | None, int | None]]) -> None:
    """In whatever order they come; and so they are after a checkpoint."""
    plain: dict[int, Entry] = {}
    made = Entries()
    for offset, (number, conversation, kind, head, task) in enumerate(rows):
        plain[number] = Entry(id=number, conversation_id=conversation, kind=kind, head=head, by_task_id=task)
        made.add(number, conversation, kind, head or 0, task or 0, offset)
    for entries in (made, Entries(made.columns())):
        assert dict(entries) == plain
        assert list(entries) == sorted(plain)
        assert list(reversed(entries)) == sorted(plain, reverse=True)
        assert [entry.id for entry in entries.after(20)] == [
            number for number in sorted(plain) if number > 20
        ]
        assert entries.last == max(plain, default=0)
        for number in range(-1, 42):
            assert (number in entries) == (number in plain)
            assert entries.get(number) == plain.get(number)
        for offset, row in enumerate(rows):
            assert entries.offset(row[0]) == offset
    assert made.get(0) is None
    with pytest.raises(KeyError):
        made.offset(99)


@given(ROWS)
def test_many_at_once(rows: list[tuple[int, int, str, int | None, int | None]]) -> None:
    """As one by one, when they are in order and have no head."""
    one_by_one, at_once, many = Entries(), Entries(), Rows()
    for offset, (number, conversation, kind, _, task) in enumerate(sorted(rows, key=lambda row: row[0])):
        one_by_one.add(number, conversation, kind, 0, task or 0, offset)
        many.ids.append(number)
        many.conversations.append(conversation)
        many.kinds.append(kind)
        many.tasks.append(task or 0)
        many.offsets.append(offset)
    at_once.extend(many)
    assert dict(at_once) == dict(one_by_one)
    assert sorted(at_once.columns().kind_names) == sorted(one_by_one.columns().kind_names)
