"""A worker: one active session, in a process of its own. The supervisor makes it, and may die without it.

- __main__: entry point of the forkserver's child; preload, rehearsal: what is done once for all workers, before the fork
- worker: the task tree; desk: all of one worker, by name; bench: what a run is made with; quiet: where blocking calls are made
- uplink, greeting, listener: the supervisor that it has, and how a later one finds it; orphan: while it has none (orphan_law)
- inbox: one envelope at a time; handlers, state_commands, child_commands, bundle_commands: by name; under_way: how many
- direct, direct_clients: clients on channels of their own
- gate: whether work may begin (gate_law); work: the one set of it; busy: what a later supervisor may believe of it
- session: the records, and in which order they are written; patience: a full disk is waited for
- runs: all that are not over, and the way to those that are (ended); shown: what each tells of itself
- run: a command's (run_facts, run_plan, run_environment, handed); programs/: a bundle's; joined: a shell line's end
- queue, waiting: turns (queue_law, turn_facts); tries, pauses: another try (tries_law)
- holding, holders: a command's holder; holder_program, holder/: what it is; remains: what one left (survivor_law)
- output, follow, transcript, segments: files to entries (output_law); attachments, viewers: files to clients; large: answers in parts
- events: what happens here, numbered; schedule: scheduled jobs; children: child sessions
- tree: the session's tree, fed; rewind: going back (rewind_law)
"""
