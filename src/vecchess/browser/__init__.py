"""The engine in a browser: the kernels as WebAssembly, and the memory they work on, laid out here.

export_web     writes the play page with its engine as static files: ``vecchess export web``
engine_image   a network, its searches and its self-play as an image of linear memory
memory_image   arrays and arguments of kernels at the addresses of WebAssembly

``scripts/wasm.py`` compiles the kernels; ``web/src/engine`` calls them. Decision 341.
"""
