"""What the side-by-side benches share: peers installed into a scratch directory, processes seen through /proc.

- peers: other supervisors, each set up with its defaults; install: where they come from
- ours: this product behind the same verbs
- seen: processes by a mark in their command line, their memory and CPU
"""
