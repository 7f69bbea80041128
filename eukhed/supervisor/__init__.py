"""The supervisor: the one daemon of a socket. It starts workers, routes to them, and may die without them.

__main__      entry point: forkserver, signals, logging, readiness; then `supervise`
supervisor    the task tree: who starts whom, who outlives whom
boot          the instance lock, directories, generation, sockets, records of earlier workers
listener      accepts clients and their descriptors
clients       one connection: hello, bounded reading, bounded writing
inbox         one envelope at a time: the supervisor's own commands by name, the rest to routing
routing       which worker, which clients (routing_law)
registry      the sessions that this supervisor knows, and who keeps each
lifecycle     one session's worker over all its lives (lifecycle_law, restart_law)
stopping      how one worker is made to leave
links         the channel to one worker, by epochs
workers       how a worker process is made
records       what is written of each worker
adoption      what an earlier supervisor left (adoption_law); revival: what died with it (revival_law)
drain         the four ways to end (drain_law)
commands      once-only commands of the supervisor itself (commands_law)
descriptors   standard inputs on their way from a client to its run
sessions      finding and opening sessions; status: what is told of it all
housekeeping  what is done every few minutes; logs: what is written for people
"""
