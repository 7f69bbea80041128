"""The journal of one run of a bundle: its calls as entries of the session, a commit each.

What a method writes is on the disk when it returns; a full disk is waited for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from eukhed.storage.batch import Batch
from eukhed.storage.reading import entries
from eukhed.storage.records import Task
from eukhed.storage.runs import QUESTION
from eukhed.worker.patience import Patience
from eukhed.worker.programs import calls
from eukhed.worker.programs.calls import CALL, Answer, Began, Spend
from eukhed.worker.programs.replay_law import Call
from eukhed.worker.session import Session
from eukhed.worker.transcript import Told


class Journal:
    """The calls of one run that were asked and answered."""

    def __init__(self, session: Session, number: int, patience: Patience) -> None:
        self._session = session
        self._number = number
        self._patience = patience
        self.began: Began | None = None
        self.asked: dict[int, Call] = {}
        self.asked_at: dict[int, int] = {}
        self.answers: dict[int, Answer] = {}

    async def recall(self) -> None:
        """Read what earlier workers wrote."""
        session, number = self._session, self._number
        rows = await session.host.off_loop(
            lambda: [
                entry.data
                for entry in entries(session.host.files, session.path)
                if entry.by_task_id == number and entry.kind == CALL
            ]
        )
        for row in rows:
            match row["row"]:
                case "began":
                    self.began = calls.began_of(row)
                case "asked":
                    self.asked[row["seq"]] = calls.call_of(row)
                    self.asked_at[row["seq"]] = row["at"]
                case "answered":
                    self.answers[row["seq"]] = calls.answer_of(row)

    @property
    def spend(self) -> Spend:
        """What all calls cost together."""
        total = Spend()
        for answer in self.answers.values():
            total = total.plus(answer.spend)
        return total

    @property
    def elapsed_ms(self) -> int:
        """How long the calls took that were answered; a person's time is not the run's."""
        return sum(
            answer.elapsed_ms for number, answer in self.answers.items() if self.asked[number].name != "ask"
        )

    async def begin(self, began: Began) -> None:
        """Write the first row."""
        await self._write(calls.began_row(began))
        self.began = began

    async def ask(self, number: int, call: Call) -> None:
        """Write that a call is about to be made."""
        at = self._session.host.clock.wall_ms()
        waits = self._with_question(number) if call.name == "ask" else None
        await self._write(calls.asked_row(number, at, call), task=waits)
        self.asked[number], self.asked_at[number] = call, at

    async def answer(self, number: int, answer: Answer, more: Sequence[Told] = (), file: str = "") -> None:
        """Write what a call came to, with the entries that it made, whose bytes stand in `file`."""
        call, at = self.asked[number], self._session.host.clock.wall_ms()
        waits = self._with_question(None) if call.name == "ask" else None
        await self._write(calls.answered_row(number, at, call, answer), more, file=file, task=waits)
        self.answers[number] = answer

    def _with_question(self, number: int | None) -> Task:
        """The run's task, which waits for a person, or does no longer."""
        task = self._session.known(self._number)
        memos = {key: memo for key, memo in (task.memos or {}).items() if key != QUESTION}
        return replace(task, memos=memos if number is None else memos | {QUESTION: number})

    async def _write(
        self, row: Mapping[str, Any], more: Sequence[Told] = (), *, file: str = "", task: Task | None = None
    ) -> None:
        """One commit."""

        async def commit() -> None:
            batch, session = Batch(), self._session
            batch.files = [file] if file else []
            session.put_entries(batch, self._number, [*more, (CALL, row)])
            if task is not None:
                batch.put_task(task)
            await session.commit(batch)

        await self._patience.until_done(commit)
