"""The launcher: a short-lived process that keeps, replaces or starts the daemon, and says which.

    __main__         `python -m eukhed.launcher`: arguments in, one JSON line out
    launch           look, ask, act, until a daemon serves
    look             what is seen of a daemon: its lock, its hello; and the one thing that is asked of it
    daemonize        the double fork, the clean environment, the exec, the wait for readiness
    other_home       whether a start would make a second daemon because HOME was changed
    manager          the user's service manager, where it has our unit
    replacement_law  what may be used, replaced or started, and by whom

Like the client, this room blocks: it has no event loop, and it is gone once a daemon serves.
"""
