"""``vecchess ray``: the same command on each node of a Ray cluster.

run_ray        the commands of all nodes, from connecting to one exit code: prints their lines,
               stops all where one fails
ray_cluster    books nodes and starts a ``NodeProcess`` on each
node_process   starts, watches and stops a command on its node
process_guard  keeps the command in a process that outlives Ray's actor, to stop it in time
"""
