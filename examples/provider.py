"""Answers the prompts of the bundle example-mail by rules, where a model would: the same question, the same answer.

    [bundle]
    ai = { provider = "command", command = ["python3", "/path/to/examples/provider.py"] }

It is started once for each ai() of a program. stdin is one JSON object: the `prompt` (the text of prompts/sort.md),
its `ref`, the `input` that the program gave, the `schema` that the answer must be of, the `effort`, and which
`bundle` asks. stdout is one, too: the `output`, and what it cost (`tokens_in`, `tokens_out`, `cost_usd`), if anything.
"""

import json
import sys

URGENT = ("down", "urgent", "broken", "today")
BULK = ("newsletter", "sale", "webinar")


def sorted_mail(subject: str, *, known: bool) -> dict[str, str]:
    """The folder of a mail, and why."""
    words = subject.lower()
    for word in URGENT:
        if word in words:
            return {"folder": "now", "because": f"it says {word}" + (", as before" if known else "")}
    for word in BULK:
        if word in words:
            return {"folder": "never", "because": f"a {word} asks for nothing"}
    return {"folder": "later", "because": "nobody waits"}


def main() -> None:
    asked = json.load(sys.stdin)
    if asked.get("ref") != "sort.md":
        sys.exit(f"this provider knows the prompt sort.md, not {asked.get('ref')}")
    given = asked["input"]
    output = sorted_mail(given["mail"]["subject"], known=bool(given["known"]))
    tokens = {"tokens_in": len(asked["prompt"].split()), "tokens_out": len(output["because"].split())}
    json.dump({"output": output, **tokens}, sys.stdout)


if __name__ == "__main__":
    main()
