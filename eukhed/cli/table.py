"""The one table of commands: help, completion, docs/commands.md and the dispatch are made from it.

It holds exactly what exists. Naming a command here is all that the rest needs: its module is imported
only when it is the one that was asked for, and builds its own small parser (`options(parser)`), and runs
(`run(context, options) -> exit status`).
"""

from typing import Final, Literal, NamedTuple

Effect = Literal["reads", "changes", "destroys"]

GROUPS: Final = {
    "run": "Run and look",
    "sessions": "Sessions",
    "state": "State",
    "jobs": "Jobs and bundles",
    "daemon": "The daemon",
    "about": "About eukhed",
}


FAMILIES: Final = {
    "cron": "scheduled jobs",
    "bundle": "versioned programs",
}  # first words of commands that have two


class Command(NamedTuple):
    """One command of the table."""

    name: str  # one word, or a family and a word
    group: str
    effect: Effect
    starts: bool  # it may start a daemon
    says: str  # one line
    module: str  # in eukhed.cli
    examples: tuple[str, ...]  # complete command lines, the likeliest first
    aliases: tuple[str, ...] = ()
    daemon: bool = True  # it needs one that runs (or starts it)

    @property
    def alone(self) -> bool:
        """Whether it asks no daemon even if one runs: bundles are on the disk, and nobody else's."""
        return self.name.startswith("bundle ") and not self.daemon


COMMANDS: Final = (
    Command(
        "run", "run", "changes", True, "run a command that outlives this terminal, and show its output", "run",
        (
            "eukhed run -- make test",
            "eukhed run -d -- ./train.sh          prints the run's address, and leaves",
            "eukhed run --queue -- make deploy    once what was begun before it has ended",
            "eukhed run --after 14 -- make deploy   once run 14 is done; not if it fails",
            "eukhed run --session api -- claude   in the session api, on a terminal of its own",
            "tar c . | eukhed run -- ssh box tar x",
        ),
    ),
    Command(
        "attach", "run", "changes", True, "come back to a run: its last lines, then live", "attach",
        (
            "eukhed attach                        the last run of this directory's session",
            "eukhed attach shop/14",
            "eukhed attach -r shop                look only; nothing typed is sent",
        ),
        aliases=("a",),
    ),
    Command(
        "runs", "run", "reads", False, "list runs, newest first", "runs",
        ("eukhed runs", "eukhed runs shop --state failed", "eukhed runs --all --json"), daemon=False,
    ),
    Command(
        "wait", "run", "reads", False, "wait for runs to end, and exit as they did", "wait",
        ("eukhed wait shop/14", "eukhed wait --any shop/14 api/31", "eukhed wait --session shop --timeout 5m"),
    ),
    Command(
        "send", "run", "changes", False, "send bytes to the input of a run that has a terminal", "send",
        ("echo yes | eukhed send shop/14 --stdin", "eukhed send shop/14 --stdin answers.txt --eof"),
    ),
    Command(
        "stop", "run", "destroys", False, "stop a run with everything that it started, or close a session", "stop",
        ("eukhed stop shop/14", "eukhed stop -s INT shop/14", "eukhed stop shop --force --yes"),
    ),
    Command(
        "kill", "run", "destroys", False, "stop a run at once: `stop -s KILL`", "stop", ("eukhed kill shop/14",),
    ),
    Command(
        "rerun", "run", "changes", True, "run the command of a run once more, in its directory, with this environment", "rerun",
        ("eukhed rerun shop/14", "eukhed rerun --failed", "eukhed rerun shop --interrupted -d"),
    ),
    Command(
        "answer", "run", "changes", False, "answer the question that a run waits with", "answer",
        ("eukhed answer shop yes", "eukhed answer shop/14 yes", "eukhed answer shop/14              its default"),
    ),
    Command(
        "withdraw", "run", "changes", False, "take back a run that is queued, or the next try of one that failed", "withdraw",
        ("eukhed withdraw shop/16",),
    ),
    Command(
        "job", "run", "changes", True, "the same as `run --detach`, for programs: prints the address, and leaves", "job",
        ("eukhed job api -- ./reindex.sh", "eukhed job api --once reindex -- ./reindex.sh"),
    ),
    Command(
        "bash", "run", "changes", True, "run a line of a shell that joins the conversation of a session", "bash",
        ("eukhed bash api 'git log --oneline -5'", "eukhed bash api -d 'make test | tail -20'"),
    ),
    Command(
        "spawn", "run", "changes", True, "run a command in a child session of a session", "spawn",
        ("eukhed spawn api -- claude -p 'fix the tests'", "eukhed spawn api -d --name build -- make"),
    ),
    Command(
        "detach", "run", "changes", False, "detach the clients that are attached; the runs go on", "detach",
        ("eukhed detach", "eukhed detach shop/14"),
    ),
    Command(
        "log", "run", "reads", False, "print what runs wrote, from the disk", "log",
        ("eukhed log shop/14", "eukhed log shop --follow", "eukhed log shop --since 2h", "eukhed log shop/14 --raw > out.txt"),
        aliases=("logs",), daemon=False,
    ),
    Command(
        "show", "run", "reads", False, "show one run or record in full", "show",
        ("eukhed show shop/14", "eukhed show shop/14 --env", "eukhed show shop 1180"), daemon=False,
    ),
    Command(
        "sessions", "sessions", "reads", False, "list sessions", "sessions",
        ("eukhed sessions", "eukhed sessions --all --json"), aliases=("ls",), daemon=False,
    ),
    Command(
        "new", "sessions", "changes", True, "make a session for a directory", "new",
        ("eukhed new", "eukhed new api --cwd ~/src/api"),
    ),
    Command(
        "rename", "sessions", "changes", False, "give a session another name", "rename",
        ("eukhed rename shop store",), daemon=False,
    ),
    Command(
        "fork", "sessions", "changes", True, "make a session that goes on from a point of another one", "fork",
        ("eukhed fork shop", "eukhed fork shop --at 1180 --name try", "eukhed fork shop --at start --cwd ~/src/other"),
    ),
    Command(
        "export", "sessions", "reads", False, "write a session to stdout, whole or to be read", "export",
        ("eukhed export shop > shop.jsonl", "eukhed export shop --format md > shop.md"), daemon=False,
    ),
    Command(
        "import", "sessions", "changes", False, "make a session of a file that export or an older version wrote",
        "importing", ("eukhed import shop.jsonl", "eukhed import shop.jsonl --name copy --cwd ~/src/copy"), daemon=False,
    ),
    Command(
        "archive", "sessions", "changes", False, "take a session out of lists, and keep it", "archive",
        ("eukhed archive shop", "eukhed archive shop --force --yes"), daemon=False,
    ),
    Command(
        "unarchive", "sessions", "changes", False, "put an archived session back into lists", "archive",
        ("eukhed unarchive shop",), daemon=False,
    ),
    Command(
        "delete", "sessions", "destroys", False, "remove a session for good", "delete",
        ("eukhed delete shop --dry-run", "eukhed delete shop", "eukhed delete shop --force --yes"), daemon=False,
    ),
    Command(
        "search", "sessions", "reads", False, "find a text in all transcripts", "search",
        ("eukhed search 'cannot allocate'", "eukhed search -i error shop --since 2d"), daemon=False,
    ),
    Command(
        "clean", "sessions", "destroys", False, "remove the output of finished runs", "clean",
        ("eukhed clean --dry-run", "eukhed clean --older 7d --yes", "eukhed clean shop --older 0s"), daemon=False,
    ),
    Command(
        "reopen", "sessions", "changes", True, "start a session over that was given up", "reopen", ("eukhed reopen etl",),
    ),
    Command(
        "state", "state", "reads", True, "show what a session holds, as a tree: now, at a past point, or as it changes", "state",
        ("eukhed state", "eukhed state shop --follow", "eukhed state shop --at 1180 --json"),
    ),
    Command(
        "rewind-plan", "state", "reads", True, "show what going back to a cursor would do", "rewind_plan",
        ("eukhed rewind-plan 1180", "eukhed rewind-plan shop 1180 --json"),
    ),
    Command(
        "rewind", "state", "destroys", True, "go back to a cursor, by one commit that can itself be rewound", "rewind",
        ("eukhed rewind shop 1180 --dry-run", "eukhed rewind shop 1180",
         "eukhed rewind shop 1180 --worker W --yes      for scripts; `state --json` says which worker"),
    ),
    Command(
        "cron add", "jobs", "changes", True, "run a command at times that a schedule gives", "cron_add",
        (
            'eukhed cron add --name nightly "0 2 * * *" -- make test',
            'eukhed cron add "in 20m" -- ./remind.sh',
            'eukhed cron add shop "every 30s" -- curl -fsS localhost/health',
        ),
    ),
    Command(
        "cron list", "jobs", "reads", False, "list scheduled jobs, the next one first", "cron_list",
        ("eukhed cron list", "eukhed cron list shop --all --json"), daemon=False,
    ),
    Command(
        "cron show", "jobs", "reads", False, "show one scheduled job in full", "cron_show",
        ("eukhed cron show nightly",), daemon=False,
    ),
    Command(
        "cron next", "jobs", "reads", False, "print the times that a schedule gives", "cron_next",
        ('eukhed cron next "0 2 * * *"', 'eukhed cron next "30 2 * * *" --timezone Europe/Berlin -n 10'), daemon=False,
    ),
    Command(
        "cron run", "jobs", "changes", True, "fire a job now, beside its schedule", "cron_change",
        ("eukhed cron run nightly",),
    ),
    Command(
        "cron pause", "jobs", "changes", False, "fire a job no more until it is resumed", "cron_change",
        ("eukhed cron pause nightly",), daemon=False,
    ),
    Command(
        "cron resume", "jobs", "changes", True, "start a paused job over: no failures, its next time from now", "cron_change",
        ("eukhed cron resume nightly",),
    ),
    Command(
        "cron cancel", "jobs", "changes", False, "end a job for good; its record stays", "cron_change",
        ("eukhed cron cancel nightly",), daemon=False,
    ),
    Command(
        "bundle list", "jobs", "reads", False, "list the bundles that can be used here", "bundle_list",
        ("eukhed bundle list", "eukhed bundle list --layer home --json"), daemon=False,
    ),
    Command(
        "bundle show", "jobs", "reads", False, "show one version of a bundle in full", "bundle_show",
        ("eukhed bundle show triage", "eukhed bundle show triage --version 2 --json"), daemon=False,
    ),
    Command(
        "bundle mint", "jobs", "changes", False, "make a directory the next version of the bundle that it holds", "bundle_mint",
        ("eukhed bundle mint triage/", 'eukhed bundle mint triage/ --parent 2d63c5d0 --why "shorter prompt"'), daemon=False,
    ),
    Command(
        "bundle lineage", "jobs", "reads", False, "what a bundle came from, and why, as a log", "bundle_lineage",
        ("eukhed bundle lineage triage",), daemon=False,
    ),
    Command(
        "bundle diff", "jobs", "reads", False, "what differs between two versions", "bundle_diff",
        ("eukhed bundle diff triage           the head, and what it was made from", "eukhed bundle diff triage 1 3"), daemon=False,
    ),
    Command(
        "bundle revert", "jobs", "destroys", False, "make an older version's content the newest version", "bundle_revert",
        ('eukhed bundle revert triage 1 --why "missed half"', "eukhed bundle revert triage 1 --dry-run"), daemon=False,
    ),
    Command(
        "bundle verify", "jobs", "reads", False, "whether the files are those that were minted", "bundle_verify",
        ("eukhed bundle verify triage",), daemon=False,
    ),
    Command(
        "bundle run", "jobs", "changes", True, "run a bundle in a session; 0 finished, 2 incomplete, 1 it could not be", "bundle_run",
        (
            "eukhed bundle run triage --input mail.json",
            "cat mail.json | eukhed bundle run triage --version 2 --input -",
            "eukhed bundle run triage -d          print the run's address, and leave",
        ),
    ),
    Command(
        "bundle remember", "jobs", "changes", False, "add a note to what a bundle has learnt", "bundle_remember",
        ('eukhed bundle remember triage "reports come on Fridays"', "git log -1 | eukhed bundle remember triage -"), daemon=False,
    ),
    Command(
        "bundle recall", "jobs", "reads", False, "the notes of a bundle, the newest first", "bundle_recall",
        ("eukhed bundle recall triage", "eukhed bundle recall triage fridays"), daemon=False,
    ),
    Command(
        "bundle last-run", "jobs", "reads", False, "how the last run of a bundle ended", "bundle_last_run",
        ("eukhed bundle last-run triage",), daemon=False,
    ),
    Command(
        "start", "daemon", "changes", True, "start the daemon, or say that it runs", "start",
        ("eukhed start",),
    ),
    Command(
        "supervise", "daemon", "changes", True, "run the daemon in the foreground, as a service manager does", "supervise",
        ("eukhed supervise",), daemon=False,
    ),
    Command(
        "shutdown", "daemon", "destroys", False, "stop the daemon", "shutdown",
        ("eukhed shutdown --if-idle           for scripts: exits 3 and changes nothing while there is work",
         "eukhed shutdown", "eukhed shutdown --force --yes"), daemon=False,
    ),
    Command(
        "status", "daemon", "reads", False, "what the daemon does, in a few lines", "status",
        ("eukhed status", "eukhed status --json"),
    ),
    Command(
        "ps", "daemon", "reads", False, "list worker processes", "ps",
        ("eukhed ps", "eukhed ps --json"),
    ),
    Command(
        "top", "daemon", "reads", True, "what waits, works and ended, drawn again as it changes; q leaves", "top",
        ("eukhed top", "eukhed top -d 10s", "eukhed top --json -n 1"),
    ),
    Command(
        "metrics", "daemon", "reads", False, "numbers of the daemon and its workers, as Prometheus text", "metrics",
        ("eukhed metrics", "eukhed metrics > /var/lib/node_exporter/eukhed.prom.$$   for a textfile collector: then rename it"),
    ),
    Command(
        "rpc", "daemon", "changes", True, "the wire as lines of JSON on stdin and stdout, for scripts", "rpc",
        ("echo '{\"id\": 1, \"type\": \"status\"}' | eukhed rpc",),
    ),
    Command(
        "service", "daemon", "changes", True, "run the daemon as a unit of the user's systemd", "service",
        ("eukhed service install", "eukhed service install --on-demand --dry-run", "eukhed service status"), daemon=False,
    ),
    Command(
        "config", "about", "reads", False, "show settings, and where each comes from", "config",
        ("eukhed config", "eukhed config get output.cap", "eukhed config check"), daemon=False,
    ),
    Command(
        "doctor", "about", "changes", False, "find what is wrong here, and what helps", "doctor",
        ("eukhed doctor", "eukhed doctor --json", "eukhed doctor --fix --session etl"), daemon=False,
    ),
    Command(
        "completion", "about", "reads", False, "print the completion script of a shell", "completion",
        ("eukhed completion bash > ~/.local/share/bash-completion/completions/eukhed",
         "eukhed completion fish > ~/.config/fish/completions/eukhed.fish"), daemon=False,
    ),
    Command(
        "laws", "about", "reads", False, "list the rules that hold for every input, and what checks each", "laws",
        ("eukhed laws", "eukhed laws --json"), daemon=False,
    ),
    Command(
        "demo", "about", "changes", False, "kill everything in turn and show that a run goes on", "demo",
        ("eukhed demo", "eukhed demo --svg demo.svg"), daemon=False,
    ),
    Command(
        "help", "about", "reads", False, "show help on a command or a topic", "helping",
        ("eukhed help run", "eukhed help exit-status"), daemon=False,
    ),
)  # fmt: skip


def find(word: str) -> Command | None:
    """Return the command of this name (two words with one blank between) or alias."""
    for command in COMMANDS:
        if word == command.name or word in command.aliases:
            return command
    return None
