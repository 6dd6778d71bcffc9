"""The state of a run on disk.

checkpoint_folder  the files: tensors, values and their hash; written whole or not at all
trainer_state      what a run saves, how it resumes, the weights alone for another run
"""
