"""The state of a session as a tree that can be read at any past point, followed, and rewound. A library.

    records       what a node, a record, an effect and a plan are
    tree_law      what each record does to a tree; how two trees differ; what a rewind would do
    nodes         one tree: a dict and an index of children
    journal       a tree and its history: any earlier tree, for what changed since
    commits_law   which records a commit of the storage is, parents first
    live          the tree that a session's commits make
    history       the commits of a storage, as its log tells of them
    builder       the task that owns it: builds it from the log, then takes each commit
    feed          what a reader or subscriber is sent
    replica       the tree at the other end

A commit goes down this list once: builder queues it, live takes it by commits_law and tree_law, feed tells it,
replica (and client/follow, which says what is new) takes it in.
"""
