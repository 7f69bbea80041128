"""The question that a run asks a person, and the first answer to it."""

import json
from typing import Any, NamedTuple

import anyio

from eukhed.errors import Invalid, NotFound
from eukhed.worker.work import Item, Work


class Question(NamedTuple):
    """What is asked by a call of a run, by its number."""

    number: int
    text: str
    options: tuple[Any, ...] = ()  # none: any text
    default: Any = None


class Questions:
    """At most one question is open: the calls of a program come one after the other."""

    def __init__(self, work: Work, run: int, address: str) -> None:
        self._work = work
        self._run = run
        self._address = address
        self._open: Question | None = None
        self._value: Any = None
        self._chosen = anyio.Event()
        self._durable = anyio.Event()

    @property
    def open(self) -> Question | None:
        """What is asked now."""
        return self._open

    async def put(self, question: Question) -> Any:
        """Ask, and return the answer; it counts once `settle` is called."""
        self._open, self._chosen, self._durable = question, anyio.Event(), anyio.Event()
        more = {
            "address": self._address, "run": self._run, "question": question.text, "call": question.number,
            "options": list(question.options), "default": question.default,
        }  # fmt: skip
        self._work.add(Item("waiting", self._run, question.text, more))
        try:
            await self._chosen.wait()
        finally:
            self._open = None
            self._work.remove("waiting", self._run)
        return self._value

    def settle(self) -> None:
        """The answer is durable."""
        self._durable.set()

    async def answer(self, number: int | None, text: str | None) -> Any:
        """Give the answer, of the question of this call if one is named; what it was taken as, once that is durable.

        Raises:
            NotFound: nothing is asked, or it is answered by now.
            Invalid: it is none of the options, or there is no default.
        """
        question = self._open
        if question is None or self._chosen.is_set() or number not in {None, question.number}:
            raise NotFound(f"run {self._address} asks nothing" + (f" of number {number}" if number else ""))
        value = taken(question, text)
        self._value = value
        self._chosen.set()
        await self._durable.wait()
        return value


def taken(question: Question, text: str | None) -> Any:
    """What a person's words mean; None is no words.

    Raises:
        Invalid: they are none of the options, or there is no default.
    """
    if text is None:
        if question.default is None:
            raise Invalid(f"{question.text!r} has no default: an answer is needed")
        return question.default
    if not question.options:
        return text
    for option in question.options:
        if text == _words(option):
            return option
    choices = ", ".join(map(_words, question.options))
    raise Invalid(f"{text!r} is none of: {choices}", options=list(map(_words, question.options)))


def _words(option: Any) -> str:
    return option if isinstance(option, str) else json.dumps(option)
