"""Scheduled jobs: the jobs file, and who fires what when. Needs no daemon.

jobs            the words: a job, its schedule, a claim
schedule        what a user writes (in, every, at, a cron pattern), and the times that it gives
expression      cron patterns, by cronsim; zones: time zones by name
cron_law        claim, finish, back off, stop at eight; what a user may do
recovery_law    what to do with a claim that nobody looks after
merge_law       a whole list written over a file that others write too
document        a jobs file as text, in which nothing is dropped (records: one record; jsontext: JSON in pieces)
store           that file on the disk: read without a lock, changed under one
actions         what a user does, each one step on the file
manner          how a job's runs are made: what it keeps of where it was added; its environment
outcome         what the end of a run means for its job
scheduler       one timer, one pass at a time, one lane a session
"""
