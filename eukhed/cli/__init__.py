"""The command line: one module a command, one table that names them.

    entry        from argv to an exit status: the table, the command's own parser, the guard
    table        the one table of commands
    context      what a command is given: the flags that all have, places, environment, how loud
    options      the parser of one command, with its help
    render       columns, colour, times and JSON, without a library
    trouble      an error as text or JSON, with what to do next; a bug goes to <root>/logs/cli.log
    finding      which session and run an argument means
    disk, transcript, pages, moments   what is read without a daemon, and how it is printed
    held         a session in a command's hand: under its lease, or through its daemon
    asking       asks once before something is destroyed

    run attach runs wait send stop detach log show sessions new reopen start supervise shutdown status
    ps config completion laws demo helping      the commands
    rename fork export importing archive delete search clean    what is done with whole sessions
    bundles      the bundle stores as a command sees them; bundle_*: the commands on bundles
    javascript   whether a bundle's program parses
    following    a log of all runs of a session, as they come
    doctor       findings: surroundings (directories, socket, logout, ...) and health (each session)
    service      the daemon as a unit of systemd (units/)
    submission   what a run gets from where it was submitted
    view         a run on this terminal: output, typed input, signals, the way back after a loss
    picture, outlet   what the view writes, and how: bytes or JSON, never blocking
    typed, keys       what is typed, and the detach key in it
    question, signals Ctrl-C asks; signals as bytes in a pipe
    settings, logout  the config file's settings; what ends at logout, said once
    terminal     raw mode and its undoing on every way out; the window's size
    exit_law     the exit status of a run that ended
    interrupt_law  what a signal means to a client

The light path (status, ps, runs, sessions, wait, send, stop, completion) imports no file that needs more
than the standard library's small modules and cbor2; a test counts the modules.
"""

from eukhed.cli.entry import main

__all__ = ["main"]
