"""Whether some values are of a schema: asked in a process of its own, for its library is large.

    python -I -S -c TEXT <directory of the library>

Reads {schema, instances} from stdin; writes why the first value that is not of the schema is not, or null.
Nothing is fetched for a reference.
"""

import json
import sys
from typing import Any


def fault(schema: "Any", instances: "list[Any]") -> "str | None":
    """Why the first that is not of the schema is not."""
    import jsonschema_rs  # noqa: PLC0415 - it is found by the path of this process alone

    def refuse(uri: str) -> "Any":
        raise ValueError(f"{uri} is not in the schema, and nothing is fetched")

    try:
        check = jsonschema_rs.validator_for(schema, retriever=refuse)
        for instance in instances:
            check.validate(instance)
    except ValueError as error:  # ValidationError and ReferencingError are of it
        where = "".join(f"/{part}" for part in getattr(error, "instance_path", ()))
        words = str(getattr(error, "message", error)).partition("\n")[0]
        return f"{where}: {words}" if where else words
    return None


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    told = json.load(sys.stdin)
    json.dump(fault(told["schema"], told["instances"]), sys.stdout)
