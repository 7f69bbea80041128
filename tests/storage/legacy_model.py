"""The legacy law said otherwise: a version 1 file is first made a tree, then there is one rule for all."""

from typing import Any

TRANSCRIPT = {
    "message",
    "custom_message",
    "custom",
    "compaction",
    "branch_summary",
    "model_change",
    "thinking_level_change",
}


def as_tree(rows: list[dict[str, Any]], version: int) -> list[dict[str, Any]]:
    if version != 1:
        return rows
    tree = [{**row, "id": f"#{at}", "parentId": f"#{at - 1}" if at else None} for at, row in enumerate(rows)]
    for row in tree:
        row.pop("firstKeptEntryId", None)
        if type(row.get("firstKeptEntryIndex")) is int:
            row["firstKeptEntryId"] = f"#{row['firstKeptEntryIndex'] - 1}"
    return tree


def plan(rows: list[dict[str, Any]], version: int) -> dict[str, Any]:
    tree = as_tree(rows, version)
    by_id = {row["id"]: at for at, row in enumerate(tree) if "id" in row}
    path: list[int] = []
    severed = None
    leaf = [at for at, row in enumerate(tree) if "id" in row][-1:]
    above: str | None = tree[leaf[0]]["id"] if leaf else None
    while above is not None:
        if above not in by_id or by_id[above] in path:
            severed = above
            break
        path.insert(0, by_id[above])
        above = tree[path[0]].get("parentId")
    entries = [at for at in path if tree[at]["type"] in TRANSCRIPT]
    skipped: dict[str, int] = {}
    for at, row in enumerate(tree):
        if at not in entries:
            skipped[row["type"]] = skipped.get(row["type"], 0) + 1
    return {
        "items": [[at, kind(tree[at]), head(tree, path, entries, at)] for at in entries],
        "skipped": skipped,
        "severed": severed,
    }


def kind(row: dict[str, Any]) -> str:
    if row["type"] == "message":
        role = row["message"].get("role")
        known = {
            "user": "user",
            "assistant": "assistant",
            "toolResult": "tool_result",
            "bashExecution": "bash",
        }
        return "custom" if role in ("custom", "hookMessage") else known.get(role, "message")
    renamed = {"custom_message": "custom", "custom": "custom_state"}
    return str(renamed.get(row["type"], row["type"]))


def head(tree: list[dict[str, Any]], path: list[int], entries: list[int], at: int) -> int | None:
    if tree[at]["type"] != "compaction":
        return None
    kept = tree[at].get("firstKeptEntryId")
    before = path[: path.index(at)]
    places = [step for step, above in enumerate(before) if kept is not None and tree[above].get("id") == kept]
    later = [above for above in before[places[0] :] if above in entries] if places else []
    return entries.index(later[0] if later else at)
