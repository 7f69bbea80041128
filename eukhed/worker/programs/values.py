"""JSON from others, read strictly."""

import json
from typing import Any, Final, NoReturn

from eukhed.worker.programs.calls import Spend

TOKENS_MAX: Final = 1 << 40
USD_MAX: Final = 1e9


class BadValue(ValueError):
    """It is not what it has to be; the message says why."""


def read(data: bytes | str, who: str) -> Any:
    """The value of a JSON text.

    Raises:
        BadValue: it is none.
    """
    try:
        return json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise BadValue(f"what {who} said is nested too deep") from None
    except ValueError as error:
        raise BadValue(f"what {who} said is no JSON: {error}") from error


def of_provider(told: Any) -> tuple[Any, Spend]:
    """The output of an answer to a prompt, and what it cost.

    Raises:
        BadValue: it is no such answer.
    """
    if not isinstance(told, dict) or "output" not in told:
        raise BadValue("an answer to a prompt is a JSON object with an output")
    money = told.get("cost_usd") or 0
    if isinstance(money, bool) or not isinstance(money, int | float) or not 0 <= money <= USD_MAX:
        raise BadValue(f"cost_usd is no sum of money: {money!r}")
    spend = Spend(_tokens(told, "tokens_in"), _tokens(told, "tokens_out"), round(money * 1_000_000))
    return told["output"], spend


def _tokens(told: dict[str, Any], key: str) -> int:
    value = told.get(key) or 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= TOKENS_MAX:
        raise BadValue(f"{key} is no number of tokens: {value!r}")
    return value


def _no_constant(word: str) -> NoReturn:
    raise BadValue(f"{word} is no number of JSON")
