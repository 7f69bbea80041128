"""Stand-ins for the machine, each held equal to the real thing by one test that drives both.

life.py       a process's power to act: once cut, each later effect raises and changes nothing
clock.py      virtual time: a loop whose clock jumps, a wall clock that can be set
files.py      a file system in memory
life_files.py   any of them as one process sees it
crash_files.py  one that loses power
watching.py  watchers that are told at once
holders.py    commands that are coroutines, and outlive workers
processes.py  processes that die on cue
network.py    sockets in memory
"""
