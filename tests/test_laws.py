"""Every law has a home and a check, and the catalogue in the package is what the texts and tests say."""

import pytest

from tests import catalogue

LAWS = catalogue.build()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: str(law["id"]))
def test_law_has_home_and_check(law: dict[str, object]) -> None:
    assert law["home"], f"{law['id']}: no law of that noun, and the text names no home"
    assert (catalogue.ROOT / str(law["home"])).is_file(), law["home"]
    assert law["checks"], f"{law['id']}: no test names it"


def test_ids_are_unique() -> None:
    ids = [str(law["id"]) for law in LAWS]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)


def test_catalogue_is_up_to_date() -> None:
    """`python -m tests.catalogue` writes it."""
    assert catalogue.CATALOGUE.read_text() == catalogue.text()
