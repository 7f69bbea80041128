"""The launcher: a short-lived process that keeps, replaces or starts the daemon, and says which.

__main__     `python -m eukhed.launcher`: arguments in, one JSON line out
launch       one launch: look, decide, act, until a daemon serves
look         what is seen of a daemon: its lock, its hello
daemonize    the double fork, the clean environment, the exec, the wait for readiness
replacement_law / relaunch_law   what may be replaced or relaunched, and by whom
"""
