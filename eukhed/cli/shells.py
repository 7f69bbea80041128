"""The completion scripts of the shells, made from the table of commands.

Made by hand: commands, flags and the names of sessions and runs are all there is to complete, and a
generator for it would be a dependency that costs more than these lines. The scripts are data of the
package (`python -m tests.cli.generated` writes them, a test holds them equal), so that printing one
imports no other command.
"""

from typing import Final

from eukhed.cli.context import COMMON
from eukhed.cli.options import parser_of
from eukhed.cli.table import COMMANDS, FAMILIES, Command

TAKES_RUN: Final = frozenset(
    {"attach", "wait", "send", "stop", "kill", "detach", "rerun", "withdraw", "log", "show"}
)
TAKES_SESSION: Final = frozenset({"runs", "reopen", "job", "cron list"})
TAKES_BUNDLE: Final = frozenset(
    f"bundle {word}"
    for word in ("show", "lineage", "diff", "revert", "verify", "remember", "recall", "last-run")
)
TAKES_JOB: Final = frozenset({"cron show", "cron run", "cron pause", "cron resume", "cron cancel"})


def flags_of(command: Command) -> list[tuple[str, str]]:
    """Return the long flags of a command, with what each is for."""
    found = []
    for action in parser_of(command)._actions:  # noqa: SLF001 - argparse has no public list of its flags
        found += [(flag, action.help or "") for flag in action.option_strings if flag.startswith("--")]
    return found


def names(command: Command) -> str:
    """Return what lists the names that a command takes: `runs`, `sessions`, `cron list`, `bundle list`, or nothing."""
    if command.name in TAKES_JOB:
        return "cron list"
    if command.name in TAKES_BUNDLE:
        return "bundle list"
    return "runs" if command.name in TAKES_RUN else "sessions" if command.name in TAKES_SESSION else ""


def _words() -> str:
    """First words: families, commands, aliases."""
    words = {word for command in COMMANDS for word in (command.name.partition(" ")[0], *command.aliases)}
    return " ".join(sorted(words))


def _second_words(family: str) -> str:
    pairs = (command.name.partition(" ") for command in COMMANDS)
    return " ".join(second for first, _, second in pairs if first == family)


def _column(what: str) -> str:
    return f"eukhed {what} --no-header 2>/dev/null | cut -d' ' -f1"


def bash() -> str:
    """Return the script for bash."""
    cases = []
    for command in COMMANDS:
        words = " ".join(flag for flag, _ in flags_of(command))
        pattern = "|".join(_case(word) for word in (command.name, *command.aliases))
        listed = f" $({_column(names(command))})" if names(command) else ""
        cases.append(f'    {pattern}) words="{words}"; [[ $cur == -* ]] || words="{listed.strip()}" ;;')
    cases += [f'    {family}) words="{_second_words(family)}" ;;' for family in FAMILIES]
    common = " ".join(name for flag in COMMON for name in flag.names if name.startswith("--"))
    return f"""# eukhed completion for bash
_eukhed() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] && return
    [[ ${{COMP_WORDS[i]}} == -* ]] && continue
    case $command in
      "") command=${{COMP_WORDS[i]}} ;;
      {"|".join(FAMILIES)}) command="$command ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case $command in
    "") words="{_words()} {common} --version" ;;
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _eukhed eukhed
"""


def _case(word: str) -> str:
    """A word, or two, as a pattern of the shell's `case`."""
    return f'"{word}"' if " " in word else word


def zsh() -> str:
    """Return the script for zsh."""
    described = [
        f"    '{word}:{_quoted(command.says)}'"
        for command in COMMANDS
        for word in (command.name, *command.aliases)
        if " " not in word
    ]
    described += [f"    '{family}:{says}'" for family, says in FAMILIES.items()]
    cases = []
    for command in COMMANDS:
        flags = " ".join(f"'{flag}'" for flag, _ in flags_of(command))
        listed = f"; compadd -- $({_column(names(command))})" if names(command) else ""
        words = "|".join(_case(word) for word in (command.name, *command.aliases))
        cases.append(f"    {words}) compadd -- {flags}{listed} ;;")
    return f"""#compdef eukhed
# eukhed completion for zsh
_eukhed() {{
  local -a commands
  commands=(
{chr(10).join(described)}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if (( ${{words[(Ie)--]}} )) && (( CURRENT > ${{words[(Ie)--]}} )); then
    _normal
    return
  fi
  local command=$words[2]
  case $command in
{chr(10).join(_zsh_family(family) for family in FAMILIES)}
  esac
  case $command in
{chr(10).join(cases)}
  esac
}}
compdef _eukhed eukhed
"""


def _zsh_family(family: str) -> str:
    second = _second_words(family)
    return f"""    {family})
      if (( CURRENT == 3 )); then
        compadd -- {second}
        return
      fi
      command="$words[2] $words[3]" ;;"""


def _outside(word: str) -> str:
    """Tell `run` from the second word of `cron run`."""
    families = [family for family in FAMILIES if word in _second_words(family).split()]
    return "".join(f"; and not __fish_seen_subcommand_from {family}" for family in families)


def fish() -> str:
    """Return the script for fish."""
    lines = ["# eukhed completion for fish", "complete -c eukhed -f"]
    for family, says in FAMILIES.items():
        lines.append(f"complete -c eukhed -n __fish_use_subcommand -a {family} -d '{_quoted(says)}'")
    for command in COMMANDS:
        family, _, second = command.name.partition(" ")
        if second:
            inside = f"__fish_seen_subcommand_from {family}"
            none = f"not __fish_seen_subcommand_from {_second_words(family)}"
            lines.append(
                f"complete -c eukhed -n '{inside}; and {none}' -a {second} -d '{_quoted(command.says)}'"
            )
            seen = f"-n '{inside}; and __fish_seen_subcommand_from {second}'"
        else:
            words = " ".join((command.name, *command.aliases))
            lines += [
                f"complete -c eukhed -n __fish_use_subcommand -a {word} -d '{_quoted(command.says)}'"
                for word in (command.name, *command.aliases)
            ]
            seen = f"-n '__fish_seen_subcommand_from {words}{_outside(command.name)}'"
        lines += [
            f"complete -c eukhed {seen} -l {flag.removeprefix('--')} -d '{_quoted(text)}'"
            for flag, text in flags_of(command)
        ]
        if names(command):
            lines.append(f'complete -c eukhed {seen} -a "({_column(names(command))})"')
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("'", "").replace(":", " -")


def scripts() -> dict[str, str]:
    """Return the script of each shell."""
    return {"bash": bash(), "zsh": zsh(), "fish": fish()}
