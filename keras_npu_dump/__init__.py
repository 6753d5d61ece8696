"""Dump data and executed graphs of Keras trainings on Ascend NPUs, paired."""
__version__ = "0.1.0"
