"""What happened to somebody in a system of this kind, each as a test that asserts what the user sees and what is on disk.

    scene.py             a home with a daemon, and the ways to hurt it
    planted.py           a supervisor with a bug in it
    test_storms.py       1 to 9: storms and revival
    test_upgrade.py      10 to 16: upgrade and launch
    test_stop.py         17 to 24: stop
    test_registration.py 25 to 29: registration
    test_files.py        30 to 34: files
    test_clients.py      35 to 44: clients
    test_time.py         45 to 47: time
    test_processes.py    48 to 50: descriptors, signals, idleness
    test_table.py        which number is tried where, and that each is

Numbers are those of the table in test_table.py. A scenario that is tried in its own room stays there, and the
table names it.
"""
