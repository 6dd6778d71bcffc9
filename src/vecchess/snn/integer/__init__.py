"""The deployed network, in integers.

integer_net  layers, description and hash
bounds       the proof that every value is exact
net_file     save_net and load_net
"""
