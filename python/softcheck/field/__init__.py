"""The field report: judges the softmax and attention kernels of the libraries that are installed.

    python -m softcheck.field                       all libraries found
    python -m softcheck.field torch scipy --budget 20
    python -m softcheck.field --no-sweep --pages docs   the pages made again from docs/field/
"""
