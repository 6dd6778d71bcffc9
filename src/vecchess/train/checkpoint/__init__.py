"""The state of a run on disk.

checkpoint_file     tensors, values and their hash in one safetensors file
checkpoint_folder   the files: written whole or not at all, older ones removed
checkpoint_weights  the weights alone, for another run
trainer_state       what a run saves, and how it resumes
"""
