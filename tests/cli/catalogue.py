"""Makes the catalogue of laws from shared/laws: `python -m tests.cli.catalogue` writes it into the package."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "eukhed/cli/laws.json"
SENTENCE = re.compile(r"^- (\w+): (.*?)(?=\n- |\n\n|\Z)", re.MULTILINE | re.DOTALL)


def catalogue() -> list[dict[str, Any]]:
    """Return each sentence of each law that has a home, with the home and what checks it."""
    found = []
    for home in sorted((ROOT / "eukhed").rglob("*_law.py")):
        noun = home.stem.removesuffix("_law")
        room = home.parent.relative_to(ROOT / "eukhed")
        text = ROOT / f"shared/laws/{noun}.md"
        if not text.is_file():
            continue
        candidates = [ROOT / f"tests/{room}/test_{home.name}", ROOT / f"shared/vectors/{noun}.json"]
        checks = [str(check.relative_to(ROOT)) for check in candidates if check.is_file()]
        for name, says in SENTENCE.findall(text.read_text()):
            sentence = " ".join(says.split())
            found.append(
                {"id": name, "says": sentence, "home": str(home.relative_to(ROOT)), "checks": checks}
            )
    return sorted(found, key=lambda law: (law["home"], law["id"]))


def write() -> None:
    rows = ",\n".join(" " + json.dumps(law, ensure_ascii=False) for law in catalogue())
    FILE.write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    write()
