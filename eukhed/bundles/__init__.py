"""Bundles: immutable versions of small programs with their prompts, on the disk. Needs no daemon.

store           BundleStore: mint, revert, load, list, verify
bundle          a bundle before a mint (BundleFiles), made ready for it, and one that was read (Bundle)
manifest        what a bundle says of itself (schema: its JSON Schemas)
records         the record of a version, the note on a run, times
layout_law      names, numbers, and the bytes that a hash covers
mint_law        which version a mint may claim, and the order of its steps
mint            those steps, done (lock: under a lock that is not waited for)
reading         a version on the disk, no link followed
verify          what drifted; what two versions differ in
memory_law      notes as markdown and back
memory          what a bundle has learnt, appended
layers_law      which layer answers for a name
layers          bundles of several places under one set of names
stores          the stores of those places, together
last_run        the note on how the last run of a bundle ended
disk            files put whole to their places, and what the system refuses as typed errors
"""
