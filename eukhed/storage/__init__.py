"""A session's storage: a directory with one commit log, and all that is done with such directories.

records           the five kinds of record
codec, lines      the bytes of a line; whole lines of a file
batch, rules      changes that are committed together, and what they must keep (documents: contents)
storage           one open storage; `live` is what it holds in memory (entries: in columns)
log + law         writes a group of batches: the steps, their order, what a failure does
committer + law   group commit for many tasks
opening           opens a storage (open_law); reading, replay, sidecars: reads one without changing a byte
checkpoint + law  a cache of what the log says; history: the commits from the first, one at a time
contents          the contents that a document had
lease + law       who has a storage open; filesystems: where a storage may not be

staging + law     builds a storage beside its place and publishes it; legacy + law: imports; fork
description       what a session says of itself; runs, outputs: its command runs and what they wrote
exporting, importing   a session as one file, and back
mending           cuts an unreadable tail off a log, on a user's word

sweep + law       removes what builders left behind
listing + law     which sessions there are (heads); lookup + law: which one is meant
"""
