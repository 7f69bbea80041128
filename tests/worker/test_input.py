"""What is typed reaches the command once and in order, whoever follows the run."""

import pytest

from tests.fakes.clock import run
from tests.worker.standing import Machine, story


@pytest.mark.parametrize("seed", range(30))
def test_what_is_typed_while_a_new_worker_finds_the_holder_is_its_input(seed: int) -> None:
    async def tell(machine: Machine) -> None:
        first = await machine.worker()
        number = await first.run("cat", stdin="typed")
        await first.ask("input", {"run": number, "data": b"one "})
        await first.ask("attach", {"run": number, "window": 1 << 20})
        await first.event("output")
        first.life.cut()
        second = await machine.worker()
        asked = [second.send("input", {"run": number, "data": data}) for data in (b"two ", b"three ")]
        asked.append(second.send("input", {"run": number, "data": b"four", "eof": True}))
        for one in asked:
            await second.answer(one)
        await second.ask("attach", {"run": number, "window": 1 << 20})
        assert (await second.event("ended"))["exit"] == 0
        assert b"".join(told["data"] for told in second.told("output")) == b"one two three four"
        assert second.told("input_refused") == []

    run(story(tell), seed)
