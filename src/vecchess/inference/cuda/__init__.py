"""The backend for NVIDIA GPUs: Triton kernels, one CUDA graph a time step.

Triton is imported by these modules only, and these modules only when the backend is opened.
"""
