"""What runs inside the process of a bundle's program. Its text is carried there; no other room imports it.

prelude   what the program's globals are, in JavaScript
main      reads the program, runs it, carries its calls to the worker and the answers back
"""
