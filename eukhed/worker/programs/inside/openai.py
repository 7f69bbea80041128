"""One question to an endpoint that speaks as OpenAI's does: asked in a process of its own.

    python -I -S -c TEXT

Reads {prompt, input, schema?, effort?, model, base_url_env, key_env} from stdin; writes {output, tokens_in,
tokens_out}. The base URL and the key are read from the variables of these names. What goes wrong is one line on
stderr, and exit 1.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

BASE_URL = "https://api.openai.com/v1"
MOST = 8 << 20


def request(told: "dict[str, Any]") -> "dict[str, Any]":
    """The body of the question."""
    given = told["input"]
    content = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    body: dict[str, Any] = {
        "model": told["model"],
        "messages": [{"role": "system", "content": told["prompt"]}, {"role": "user", "content": content}],
    }
    if told.get("schema") is not None:
        form = {"name": "answer", "schema": told["schema"]}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if told.get("effort") is not None:
        body["reasoning_effort"] = told["effort"]
    return body


def asked(told: "dict[str, Any]") -> "dict[str, Any]":
    """The endpoint's answer, as it says it."""
    base = os.environ.get(told["base_url_env"]) or BASE_URL
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key := os.environ.get(told["key_env"]):
        headers["Authorization"] = f"Bearer {key}"
    data = json.dumps(request(told)).encode()
    url = base.rstrip("/") + "/chat/completions"
    question = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310 - it is looked at below
    if question.type not in {"http", "https"}:
        raise ValueError(f"{told['base_url_env']} is no http or https URL")
    with urllib.request.urlopen(question) as answer:  # noqa: S310 - its scheme was looked at
        found: dict[str, Any] = json.loads(answer.read(MOST))
        return found


def taken(told: "dict[str, Any]", found: "dict[str, Any]") -> "dict[str, Any]":
    """What is wanted of an answer."""
    text = found["choices"][0]["message"]["content"]
    output = json.loads(text) if told.get("schema") is not None else text
    usage = found.get("usage") or {}
    return {
        "output": output,
        "tokens_in": usage.get("prompt_tokens", 0),
        "tokens_out": usage.get("completion_tokens", 0),
    }


def main() -> int:
    """Ask once."""
    told = json.load(sys.stdin)
    try:
        found = asked(told)
    except urllib.error.HTTPError as error:
        words = error.read(2000).decode(errors="replace").replace("\n", " ")
        sys.stderr.write(f"the endpoint answered {error.code} {error.reason}: {words}")
        return 1
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the endpoint cannot be asked: {error}")
        return 1
    try:
        json.dump(taken(told, found), sys.stdout)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        sys.stderr.write(f"the endpoint's answer is not of its form: {error!r}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
