"""The commands of a worker about runs of bundles, and the questions that they ask."""

from typing import Any, Final

from eukhed.bundles.reading import Limits
from eukhed.errors import Invalid, NotFound
from eukhed.wire.messages import Command
from eukhed.worker.desk import Desk
from eukhed.worker.programs import pinned
from eukhed.worker.programs.live import LiveBundle
from eukhed.worker.programs.wish import wish
from eukhed.worker.runs import Run, number_of


async def begin(desk: Desk, command: Command, body: Any) -> tuple[Run, Any]:
    """Begin a run of a bundle, once per command id.

    Raises:
        Invalid: its input is not of the bundle's schema. NotFoundError, BrokenBundle: there is no such version as
        it is pinned to.
    """
    asked, programs = wish(body), desk.runs.programs
    if command.command_id is None:
        raise Invalid("run_bundle needs a command id, so that a repeat is not a second run")
    if programs is None:
        raise Invalid("this worker runs no bundles")
    if desk.session.submitted(command.command_id) is None:
        settings = await programs.settings()
        limits = Limits(settings.file_bytes, settings.files)
        bundle = await desk.host.off_loop(lambda: pinned.load(desk.host, asked.pin, limits))
        schema = bundle.manifest.input
        if schema is not None:
            fault = await programs.checked(schema, [asked.value])
            if fault is not None:
                raise Invalid(f"the input is not what {asked.pin.name} takes: {fault}", field="input")
    return await desk.runs.begin_bundle(command.command_id, asked), asked


async def answer(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Answer the question of a run; the first answer counts, and it is durable when this returns."""
    run, number, text = number_of(body.get("run")), body.get("call"), body.get("text")
    if text is not None and not isinstance(text, str):
        raise Invalid("text is the answer's words")
    if number is not None and not isinstance(number, int):
        raise Invalid("call is the number of the call that asks")
    asking = [one for one in desk.runs.live() if isinstance(one, LiveBundle) and one.asks]
    if run is not None:
        asking = [one for one in asking if one.id == run]
    if not asking:
        name = desk.session.name if run is None else f"{desk.session.name}/{run}"
        raise NotFound(f"{name} asks nothing", next=[["eukhed", "status"]])
    if len(asking) > 1:
        addresses = [f"{desk.session.name}/{one.id}" for one in asking]
        raise NotFound(f"{desk.session.name} asks in several runs: {', '.join(addresses)}", runs=addresses)
    taken = await asking[0].answer(number, text)
    return {"run": asking[0].id, "address": f"{desk.session.name}/{asking[0].id}", "answer": taken}


HANDLERS: Final = {"answer": answer}
