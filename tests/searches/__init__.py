"""Every interleaving of three workers, for laws that hold over a protocol: the searcher asks the laws themselves.

    search.py            breadth first over all states, with counts of what was reached
    orphans.py           a supervisor that goes and comes back, workers that look for it (orphan_law)
    adoptions.py         a boot over what was left, crashes, late registrations and generations (adoption_law)
    starts.py            a command from its submission to its start, cut at each step (survivor_law, retry_law)

gate_law and drain_law are searched in their rooms: tests/worker/test_gate_law.py, tests/supervisor/test_drain_law.py;
here are their mutants. A mutant is one verdict of a law exchanged for another one; each is seen, by a state that must not
be or by another number of states.
"""
