"""The engine of bundles: what runs a program with its journal, its fuel and its doors.

live          one run, to its end: what lists, views and queues see of it
attempt       one attempt at it, from its guards to what the program came to
journal       its calls, as entries of the session (calls: the rows)
replay_law    what becomes of a call by what the journal holds
fuel_law      what a run may use up
engine_law    how a run ends; in which order guards are asked
doors         what the calls do (values: JSON from others, read strictly)
questions     what a run asks a person
outlet        what it writes, as a run's streams
pinned        the version that it is pinned to
wish          what is asked for in a run
programs      what all this needs of the machine; system: the real processes
inside        what runs inside those
"""
