"""The backend for NVIDIA GPUs: Triton kernels, one CUDA graph of one or two time steps.

Triton is imported by these modules only, and these modules only when the backend is opened.

backend         the backend
streams         the order of work: kernels, copies, finished steps
staging         copies questions to the device, answers to their rows
launches        launches the kernels with their arguments, and leaves memory to the cache
tower           kernel of the residual tower
heads           kernels of admission, the list of busy slots, the heads and the exit rule
state           tensors of the slots
device_weights  weights in the order of the kernels
tiles           shapes of a program of the tower
tuning          the fastest tile, measured once
"""
