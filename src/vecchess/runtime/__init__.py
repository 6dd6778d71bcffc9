"""What all long-running commands share.

devices            devices by --gpus, and each worker's share of cores and games
signals            stop signals and exit codes
torch_environment  variables that are read when torch is imported, and its threads
freed_memory       freed memory stays in the process, or goes back to the system
child_process      functions in spawned processes: start, reason of death, last lines, end
child_program      programs as child processes: start, end
json_pipe          JSON messages between processes
plugin             objects of the user, by module:name
retried_read       reads that are tried again while a file is out of reach
atomic_write       files replaced whole, lines appended whole
atomic_output      what a command makes: a file or folder that is there whole or not at all
async_file         a file replaced by its newest value, in a thread
file_lock          locks of files between processes
write_retry        writes that are retried while the disk is full or a file locked
reporting          lines for people, and durations
terminal           a console that shows texts of others without their commands
progress           the display of long work
gpu_stats          readings of GPUs, and the cores beside them
cost_meter         processor time, time of GPUs and energy that work takes

engines/           UCI engines as processes, asked for moves
"""
