"""What a program's calls do. A call that cannot be done is an answer too: what the program is thrown.

Nothing here knows the journal: whether a call is made at all is decided before it comes here.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.bundles.memory import Memory
from eukhed.config import Ai, Bundles, Helper
from eukhed.errors import EukhedError
from eukhed.worker.programs import values
from eukhed.worker.programs.calls import MOST, Answer, Fault, Spend
from eukhed.worker.programs.pinned import Pinned
from eukhed.worker.programs.programs import Programs, Told
from eukhed.worker.programs.values import BadValue

JUDGE: Final = (
    "You decide whether a program may run on an input. Answer the question about the input with a JSON object: "
    '"pass" is true if the program may run, "because" says why in one sentence.'
)
JUDGED: Final = {
    "type": "object",
    "properties": {"pass": {"type": "boolean"}, "because": {"type": "string"}},
    "required": ["pass"],
}
_PROVIDERS: Final = (
    'ai = { provider = "command", command = ["program"] } or ai = { provider = "openai", model = "name" }'
)


class Means(NamedTuple):
    """What the calls of one run are made with."""

    programs: Programs
    settings: Bundles
    bundle: Pinned
    memory: Memory
    env: Mapping[bytes, bytes]
    cwd: str


async def ai(means: Means, told: Mapping[str, Any]) -> Answer:
    """Have a prompt of the bundle answered."""
    prompt = means.bundle.prompt(str(told.get("ref")))
    if prompt is None:
        known = ", ".join(sorted(means.bundle.prompts)) or "it has none"
        return _fault("UnknownPrompt", f"ai takes the name of a file in prompts/, never text: {known}")
    return await _asked(means, {"prompt": prompt, **told})


async def judgement(means: Means, question: str, given: Any) -> Answer:
    """Have the question of a guard answered: {pass, because}."""
    told = {"question": question, "purpose": means.bundle.manifest.purpose, "input": given}
    return await _asked(means, {"prompt": JUDGE, "ref": "", "input": told, "schema": JUDGED})


async def tool(means: Means, told: Mapping[str, Any]) -> Answer:
    """Start a tool of the user's that the bundle may use, and return what it says."""
    name = str(told.get("name"))
    if name not in means.bundle.manifest.whitelist:
        return _fault("NotAllowed", f"{name!r} is not in the whitelist of this bundle")
    helper = means.settings.tools.get(name)
    if helper is None:
        return _fault(
            "NotConfigured",
            f'there is no tool {name!r}: name it in config.toml, [bundle.tools] {name} = ["program"]',
        )
    return await _helped(means, helper, told.get("args"), name)


async def fallback(means: Means, name: str, given: Any, reason: str) -> Answer:
    """Let the engine that takes over do what the program did not."""
    helper = means.settings.engines.get(name)
    if helper is None:
        return _fault(
            "NotConfigured", f"the engine {name!r} that takes over is not in config.toml, [bundle.engines]"
        )
    manifest = means.bundle.manifest
    told = {
        "bundle": means.bundle.about, "purpose": manifest.purpose, "input": given, "reason": reason,
        "output": manifest.output,
    }  # fmt: skip
    return await _helped(means, helper, told, name)


async def remember(means: Means, told: Mapping[str, Any], since_ms: int | None) -> Answer:
    """Append a note; `since_ms`: it may be there since then, and is not appended twice."""
    note = str(told.get("note"))
    try:
        if since_ms is None or not means.memory.has(note, since_ms):
            await means.memory.remember(note)
    except EukhedError as error:
        return _fault(error.code, error.message)
    return Answer()


async def recall(means: Means, told: Mapping[str, Any]) -> Answer:
    """Find notes, the newest first; as many as an answer holds."""
    try:
        notes = means.memory.recall(str(told.get("query")))
    except EukhedError as error:
        return _fault(error.code, error.message)
    found, size = [], 2
    for note in notes:
        text = json.dumps({"at": note.at, "text": note.text})
        size += len(text) + 2
        if size > MOST:
            break
        found.append(text)
    return Answer(f"[{', '.join(found)}]")


async def _asked(means: Means, told: Mapping[str, Any]) -> Answer:
    """Ask whoever answers prompts."""
    who = means.settings.ai
    question = {
        key: told[key] for key in ("prompt", "ref", "input", "schema", "effort") if told.get(key) is not None
    }
    question = {"input": None} | question | {"bundle": means.bundle.about}
    try:
        match who.provider:
            case "command":
                said = await means.programs.helped(
                    who.argv, json.dumps(question).encode(), means.env, means.cwd, MOST
                )
            case "openai":
                said = await means.programs.openai(_endpoint(question, who), means.env, MOST)
            case _:
                told_how = (
                    f"nobody is set to answer prompts: write in config.toml, under [bundle], {_PROVIDERS}"
                )
                return _fault("NotConfigured", told_how)
        answer = _said(said, "whoever answers prompts")
        output, spend = values.of_provider(answer)
        if told.get("schema") is not None:
            fault = await means.programs.checked(told["schema"], [output])
            if fault is not None:
                return Answer(
                    error=Fault("AiError", f"the answer is not of the schema: {fault}"), spend=spend
                )
    except (BadValue, EukhedError) as error:
        return _fault("AiError", str(error))
    return _answer(output, "AiError", spend)


def _endpoint(question: Mapping[str, Any], who: Ai) -> bytes:
    told = {"model": who.model, "base_url_env": who.base_url_env, "key_env": who.key_env}
    return json.dumps({**question, **told}).encode()


async def _helped(means: Means, helper: Helper, told: Any, name: str) -> Answer:
    try:
        said = await means.programs.helped(helper.argv, json.dumps(told).encode(), means.env, means.cwd, MOST)
        return _answer(_said(said, name), "ToolError")
    except (BadValue, EukhedError) as error:
        return _fault("ToolError", str(error))


def _said(said: Told, who: str) -> Any:
    """The JSON that a helper said.

    Raises:
        BadValue: it failed, or said something else.
    """
    if said.too_much:
        raise BadValue(f"{who} said more than {MOST} bytes")
    if said.exit:
        lines = said.err.decode(errors="replace").strip().splitlines()
        raise BadValue(f"{who} ended with {said.exit}" + (f": {lines[-1]}" if lines else ""))
    return values.read(said.out, who) if said.out.strip() else None


def _answer(output: Any, name: str, spend: Spend = Spend()) -> Answer:  # noqa: B008 - it is a tuple
    text = json.dumps(output)
    if len(text) > MOST:
        return Answer(error=Fault(name, f"the answer has more than {MOST} bytes"), spend=spend)
    return Answer(text, spend=spend)


def _fault(name: str, message: str) -> Answer:
    return Answer(error=Fault(name, message))
