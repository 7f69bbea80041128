"""The holder: one small process beside each command, which keeps what must outlive the worker.

It is run from memory (`worker/holder_program.py`), on a bare interpreter without site-packages, so these
files import the standard library only, and of it only what is cheap: no typing, enum, json, signal or
socket (their C halves instead). It knows nothing of sessions.

    main         the loop: what is waited for, and what follows
    command      the command: started once, as planned, or the reason why not
    streams      the output files: copied to where needed, kept below the cap
    cap_law      which bytes the cap drops
    descendants  every process below the holder, and how all are ended
    peers        the workers that are connected
    place        the run's directory: facts written so that they are whole or absent
"""
