"""The whole daemon in one process, from one seed: the product's own shells over a simulated machine.

world.py       the machine, and the processes that are started on it
faults.py      what happens to them, and at which effect
client.py      a client process: speaks the wire as eukhed.client does, and comes back after losses
people.py      who wants something, asks again after every loss, and remembers what was told
commands.py    what the commands do, and what they must have printed
invariants.py  what holds at every step, and at the end of each history
history.py     one history: a seed, some people, some faults, all invariants

`python -m tests.world SEED` tells one history again, step by step.
"""
