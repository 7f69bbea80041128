"""Writes what is made from other parts: `python -m tests.cli.generated`. A test holds each equal to its source.

eukhed/cli/laws.json     the catalogue of laws, from shared/laws
eukhed/cli/completions/  the scripts of the shells, from the table of commands
docs/commands.md         every command, from the table and its parser
"""

from pathlib import Path

from eukhed.cli.context import DEFAULTS
from eukhed.cli.options import effect, parser_of
from eukhed.cli.runs import KEYS as RUN_KEYS
from eukhed.cli.sessions import KEYS as SESSION_KEYS
from eukhed.cli.shells import scripts
from eukhed.cli.table import COMMANDS, GROUPS, Command
from tests.catalogue import text as laws

ROOT = Path(__file__).parent.parent.parent


def commands() -> str:
    """The page of all commands."""
    page = [
        "# Commands",
        "",
        "Made from the table of commands (`eukhed/cli/table.py`) and each command's parser; `eukhed COMMAND --help`",
        "says the same. Every command has `--json`, `--home`, `--socket`, `-q`, `-v`, `--color` and `--help`; they may",
        "stand before the command too. What follows the first `--` belongs to the command that is run.",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    page += [f"| [`{one.name}`](#{one.name.replace(' ', '-')}) | {one.says} |" for one in COMMANDS]
    for group, title in GROUPS.items():
        page += ["", f"## {title}"]
        for command in COMMANDS:
            if command.group == group:
                page += ["", *_section(command)]
    page += ["", *json_page()]
    return "\n".join(page) + "\n"


def _section(command: Command) -> list[str]:
    lines = [
        f"### {command.name}",
        "",
        f"{command.says[0].upper()}{command.says[1:]}. Effect: {effect(command)}.",
    ]
    if command.aliases:
        lines.append("Also: " + ", ".join(f"`{alias}`" for alias in command.aliases) + ".")
    lines += ["", "```sh", *command.examples, "```", ""]
    common = set(DEFAULTS)
    flags = [action for action in parser_of(command)._actions if action.dest not in common]
    if flags:
        lines += ["| argument | |", "|---|---|"]
        for action in flags:
            names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            value = f" {action.metavar}" if action.option_strings and action.metavar else ""
            lines.append(f"| `{names}{value}` | {(action.help or '').replace('|', chr(92) + '|')} |")
    return lines


def json_page() -> list[str]:
    return [
        "## JSON",
        "",
        "With `--json` stdout carries data alone. A newer key may appear; none goes or changes its meaning. Times are",
        'milliseconds since 1970, `seconds` and `*_s` are seconds. What is not UTF-8 is `{"base64": ...}`.',
        "",
        "- `status`: `running`, `pid`, `version`, `build`, `protocol`, `generation`, `socket`, `root`, `uptime_s`,",
        "  `sessions`, `workers`, `gave_up`, `runs`, `waiting`, `next_job`, `supervised_by`, `survives_logout`, `config_problems`,",
        '  `timing_scale`, `clients`, `counts`, `cpu_s`, `pss_bytes`; without a daemon `{"running": false, ...}` and exit 4',
        "- `ps`: an array of `session`, `name`, `worker`, `pid`, `state`, `work`, `waiting`, `restarts`, `restarts_left`,",
        "  `next_try_at`, `last_error`, `uptime_s`, `cpu_s`, `pss_bytes`, `build`, `adopted`, `orphaned`,",
        "  `direct` (clients on channels of their own: `client`, `pid`, `owner?`), `owner`, `owner_here`",
        f"- `runs`: an array of {', '.join(f'`{key}`' for key in RUN_KEYS)}",
        f"- `sessions`: an array of {', '.join(f'`{key}`' for key in SESSION_KEYS)}",
        "- `run`: one event a line, `event` names it: `started {run, session, address, pid}`, `output {stream, text | base64}`,",
        "  `notice {text}`, `ended {state, exit, signal, error, stopped_by}`, `detached {run}`",
        "- `run --detach`: `{run, session, address, pid, state}`",
        "- `attach`: as `run`, beginning with `attached {run, session, address, state, pid}`",
        "- `wait`: an array of runs, in the order in which they were named",
        "- `log`: one entry a line: `entry`, `run`, `kind`, and `stream`, `offset`, `text | base64` of output, `length` of",
        "  what is `dropped`, else `data`, and `messages` of what was said; what --follow adds has no `entry`, and `ended`",
        "  is the last line of a run",
        "- `cron list`: an array of the jobs as they are stored (`docs/cron.md`), each with `lastRun`: `address`, `session`,",
        "  `run`, `state`, `exit`, `signal`, `error`, `seconds`; `cron next`: an array of `at`, `local`, `note`",
        "- `cron run`: `{claim, run, address}`",
        "- `bundle mint`, `bundle revert`: the version's record as it is on the disk (`docs/bundles.md`; its `at` is RFC 3339,",
        "  what is empty is left out), `name`, `minted` (false: the head has that content); `revert --dry-run`: `name`, `from`,",
        "  `to`, `changes {path, what}`, `minted`",
        "- `bundle list`: an array of the head's record with `name`, `purpose`, `cues`, `provenance`, `hides`, `last_run`",
        "- `bundle show`: the record with `name`, `head`, `provenance`, `directory`, `manifest`, `sizes` by path, `memory`,",
        "  `last_run`; `bundle lineage`: an array of records, the newest first",
        "- `bundle diff`: `name`, `old`, `new`, `changes {path, what, text}`; `bundle verify`: `name`, `ok`, `versions`,",
        "  `drift {version, file, what, provenance}`, and exit 1 when there is any",
        "- `bundle remember`: `name`, `remembered`, `file`; `bundle recall`: an array of `at`, `text`; `bundle last-run`: `at`,",
        "  `version`, `finished`, `why`, `cost_usd`, or null",
        '- what the commands on bundles leave out is told on stderr, one object a line: `{"notice"}`',
        "- `show S RECORD`: `session`, `name`, `kind`, `record` as it is on the disk, and `content` of a live document",
        "- `rename`: `session`, `name`, `was`; `archive`, `unarchive`: `session`, `name`, `archived`",
        "- `fork`: `session`, `name`, `from`, `conversation`, `at`, `ended` (what runs stays there), `left` (documents",
        "  whose old content is gone)",
        "- `export`: the lines of [an export](storage-format.md#export)",
        "- `import`: `session`, `name`, `cwd`, `format` (`export`, `legacy`), `version`, `entries`, `skipped` by type,",
        "  `severed`, `dropped_bytes`, `ended`",
        "- `delete`: `session`, `name`, `runs`, `bytes`, `deleted`, and `leftover` of what the sweep will remove",
        "- `search`: one line each of `session`, `name`, `run`, `address`, `entry` (null: the run's command), `stream`,",
        "  `at`, `text`",
        "- `clean`: `runs`, `sessions`, `bytes`, `removed`",
        "- `doctor`: an array of `state` (`ok`, `warning`, `broken`), `subject`, `what`, `since`, `costs`, `fix` and `look`",
        "  (argv, or null), `advice`",
        "- `service`: `directory`, `units` by name: `installed`, `current`, `enabled`, `active`",
        "- `laws`: an array of `id`, `says`, `home`, `checks`",
        '- errors: one object on stderr, `{"error": {"code", "message", "next": [argv, ...], "exit"}}` ([errors](errors.md))',
    ]


def pages() -> dict[Path, str]:
    """All that is generated, by its path."""
    made = {ROOT / "eukhed/cli/laws.json": laws(), ROOT / "docs/commands.md": commands()}
    return made | {ROOT / f"eukhed/cli/completions/eukhed.{shell}": text for shell, text in scripts().items()}


def write() -> None:
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write()
