"""The supervisor: the one daemon of a socket. It starts workers, routes to them, and may die without them.

- __main__: entry point: forkserver, signals, logging, readiness; then `supervise`
- supervisor: the task tree: who starts whom, who outlives whom
- house: all of one supervisor, by name; settings: what it is configured with; ids: names that it gives
- boot: the instance lock, directories, generation, sockets
- listener: accepts clients, and reads each (wire/clients)
- inbox: one envelope at a time: the supervisor's own commands by name, the rest to routing
- routing: which worker, which clients (routing_law); descriptors: standard inputs on the same way
- keepers: who keeps which session; what is left at boot
- lifecycle: one session's worker over all its lives (lifecycle_law, restart_law)
- lives: one process of it; launching: how it begins; stopping: how it is made to leave
- links: the channel to one worker; workers: how a worker process is made; records: what is written of it
- adoption: what an earlier supervisor left (adoption_law); revival: what died with it (revival_law)
- drain: the four ways to end (drain_law); survivors, unattended: runs that go on without a worker; passivation: workers that nobody needs (passivation_law)
- children: child sessions, until their parents know how they ended (child_law); subtree: ends a session with all below it
- commands: once-only commands of the supervisor itself (commands_law)
- sessions: finding, opening; listing: all of them, one look for all who ask; status: what is told of it all
- housekeeping: what is done every few minutes; logs: what is written for people
"""
