"""Games, networks and measurements in formats of other programs: ``vecchess export``.

game_source    recorded games in order, read shard by shard, as all writers read them
pgn_export     games as PGN, with evaluations in comments
csv_table      statistics of games or plies as CSV
lc0_export     games as training data of lc0
onnx_export    a network as an ONNX file, compared with our own backend first
onnx_net       all time steps of a network as one ONNX graph
nir_file       a network as a NIR file, and back
nir_graph      a network as a graph of NIR, and back
nir_neurons    layers of neurons as graphs of NIR's primitives
hub_folder     a network as a folder for a model hub
tracker_export a run's measurements in experiment trackers
"""
