"""The machine. Only this room touches the operating system.

    seam.py       what the other rooms see: Clock, Files, Processes, Watching, OffLoop, and Host of them all
    clock.py      the three clocks, sleeps and bounds
    timers.py     waiting for a wall time, through suspend and clock steps (timerfd)
    files.py      the file system; locks that no forked child keeps; directories that are ours alone
    process.py    processes by identity; signals and exits through pidfds
    watch.py      changes to files (inotify)
    waiting.py    waiting for a descriptor that may be closed meanwhile
    off_loop.py   blocking calls beside the event loop
    sockets.py    unix sockets, who is at the other end, descriptors in messages
    logind.py     whether a logout ends what a user left running
    systemd.py    what a service manager gives and wants to be told
    libc.py       system calls by ctypes
    blocking.py   a machine for a process without an event loop: its waits block

An entry point makes the one Host of its process by `system_host()` and hands it down.
"""

from eukhed.host.seam import Host


def system_host() -> Host:
    """The real machine. Importing is left to here: who only reads files needs no event loop's library."""
    from eukhed.host.clock import SystemClock  # noqa: PLC0415 - see the docstring
    from eukhed.host.files import SystemFiles  # noqa: PLC0415 - see the docstring
    from eukhed.host.off_loop import SystemOffLoop  # noqa: PLC0415 - see the docstring
    from eukhed.host.process import SystemProcesses  # noqa: PLC0415 - see the docstring
    from eukhed.host.watch import SystemWatching  # noqa: PLC0415 - see the docstring

    clock = SystemClock()
    return Host(clock, SystemFiles(), SystemProcesses(clock), SystemOffLoop(), SystemWatching())
