"""The completion scripts of the shells, made from the table of commands.

Made by hand: commands, flags and the names of sessions and runs are all there is to complete, and a
generator for it would be a dependency that costs more than these lines. The scripts are data of the
package (`python -m tests.cli.generated` writes them, a test holds them equal), so that printing one
imports no other command.
"""

from typing import Final

from eukhed.cli.context import COMMON
from eukhed.cli.options import parser_of
from eukhed.cli.table import COMMANDS, Command

TAKES_RUN: Final = frozenset({"attach", "wait", "send", "stop", "kill", "detach", "log", "show"})
TAKES_SESSION: Final = frozenset({"runs", "reopen"})


def flags_of(command: Command) -> list[tuple[str, str]]:
    """Return the long flags of a command, with what each is for."""
    found = []
    for action in parser_of(command)._actions:  # noqa: SLF001 - argparse has no public list of its flags
        found += [(flag, action.help or "") for flag in action.option_strings if flag.startswith("--")]
    return found


def names(command: Command) -> str:
    """Return which names a command takes: `runs`, `sessions`, or nothing."""
    return "runs" if command.name in TAKES_RUN else "sessions" if command.name in TAKES_SESSION else ""


def _words() -> str:
    return " ".join(sorted(word for command in COMMANDS for word in (command.name, *command.aliases)))


def _column(what: str) -> str:
    return f"eukhed {what} --no-header 2>/dev/null | cut -d' ' -f1"


def bash() -> str:
    """Return the script for bash."""
    cases = []
    for command in COMMANDS:
        words = " ".join(flag for flag, _ in flags_of(command))
        pattern = "|".join((command.name, *command.aliases))
        listed = f" $({_column(names(command))})" if names(command) else ""
        cases.append(f'    {pattern}) words="{words}"; [[ $cur == -* ]] || words="{listed.strip()}" ;;')
    common = " ".join(name for flag in COMMON for name in flag.names if name.startswith("--"))
    return f"""# eukhed completion for bash
_eukhed() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] && return
    [[ -z $command && ${{COMP_WORDS[i]}} != -* ]] && command=${{COMP_WORDS[i]}}
  done
  case $command in
    "") words="{_words()} {common} --version" ;;
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _eukhed eukhed
"""


def zsh() -> str:
    """Return the script for zsh."""
    described = [
        f"    '{word}:{_quoted(command.says)}'"
        for command in COMMANDS
        for word in (command.name, *command.aliases)
    ]
    cases = []
    for command in COMMANDS:
        flags = " ".join(f"'{flag}'" for flag, _ in flags_of(command))
        listed = f"; compadd -- $({_column(names(command))})" if names(command) else ""
        cases.append(f"    {'|'.join((command.name, *command.aliases))}) compadd -- {flags}{listed} ;;")
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
  case $words[2] in
{chr(10).join(cases)}
  esac
}}
compdef _eukhed eukhed
"""


def fish() -> str:
    """Return the script for fish."""
    lines = ["# eukhed completion for fish", "complete -c eukhed -f"]
    for command in COMMANDS:
        words = " ".join((command.name, *command.aliases))
        lines += [
            f"complete -c eukhed -n __fish_use_subcommand -a {word} -d '{_quoted(command.says)}'"
            for word in (command.name, *command.aliases)
        ]
        seen = f"-n '__fish_seen_subcommand_from {words}'"
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
