"""Choices by measurement: slot counts and exit rules.

slot_search       measures slot counts and chooses one
tuning_cache      keeps measured choices in the user's cache directory
step_traces       records answers after every time step
exit_calibration  measures what leaving early costs, and finds an exit rule
"""
