"""Self-play under faults.

- ``run_torture`` runs under faults, resumed until they are complete, and checked
- ``processes`` faults of processes: kills, pauses, limits of files and memory
- ``compaction`` a compaction meanwhile
- ``injector`` faults at named points within a process
- ``invariants`` conditions that hold for every run
"""
