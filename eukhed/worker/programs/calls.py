"""The rows of a run's journal: what they say, and their form as entries of a session.

Free JSON of a storage has integers only, and a program's numbers are none, so what a program gives and gets stands
in the rows as text of JSON.
"""

from typing import Any, Final, NamedTuple

from eukhed.worker.programs.replay_law import Call

CALL: Final = "call"  # the kind of these entries
MOST: Final = 1 << 20  # bytes of one text in a row


class Spend(NamedTuple):
    """What a call cost. Money in millionths of a US dollar, so that sums are exact."""

    tokens_in: int = 0
    tokens_out: int = 0
    micro_usd: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def plus(self, other: "Spend") -> "Spend":
        return Spend(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.micro_usd + other.micro_usd,
        )


class Fault(NamedTuple):
    """What a call throws."""

    name: str
    message: str


class Began(NamedTuple):
    """The first row: what time and chance are for the program, however often it is run again."""

    at: int
    seed: tuple[int, int, int, int]


class Answer(NamedTuple):
    """What a call came to: some JSON, or what it throws."""

    output: str | None = None
    error: Fault | None = None
    spend: Spend = Spend()
    elapsed_ms: int = 0


def began_row(began: Began) -> dict[str, Any]:
    return {"row": "began", "seq": 0, "at": began.at, "seed": list(began.seed)}


def asked_row(number: int, at: int, call: Call) -> dict[str, Any]:
    return {
        "row": "asked", "seq": number, "at": at, "call": call.name, "ref": call.ref, "input": call.told,
    }  # fmt: skip


def answered_row(number: int, at: int, call: Call, answer: Answer) -> dict[str, Any]:
    told: dict[str, Any] = {
        "row": "answered", "seq": number, "at": at, "call": call.name, "ref": call.ref,
        "elapsedMs": answer.elapsed_ms,
    }  # fmt: skip
    if answer.output is not None:
        told["output"] = answer.output
    if answer.error is not None:
        told["error"] = answer.error._asdict()
    if answer.spend != Spend():
        told["spend"] = {
            "tokensIn": answer.spend.tokens_in,
            "tokensOut": answer.spend.tokens_out,
            "microUsd": answer.spend.micro_usd,
        }
    return told


def began_of(row: dict[str, Any]) -> Began:
    first, second, third, fourth = row["seed"]
    return Began(row["at"], (first, second, third, fourth))


def call_of(row: dict[str, Any]) -> Call:
    return Call(row["call"], row["ref"], row["input"])


def answer_of(row: dict[str, Any]) -> Answer:
    spend, error = row.get("spend", {}), row.get("error")
    return Answer(
        row.get("output"),
        None if error is None else Fault(**error),
        Spend(spend.get("tokensIn", 0), spend.get("tokensOut", 0), spend.get("microUsd", 0)),
        row["elapsedMs"],
    )
