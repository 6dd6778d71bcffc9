"""The state of a run on disk.

trainer_state       what is saved, and how a run resumes from it
state_file          the state as two files: safetensors and JSON
checkpoint_folder   folders of these files that are complete or absent
"""
