"""All rules of evidence: importing this fills `evidence.RULES`, in the order in which
their texts are shown.

How the answers are weighed against each other is in `pairing/candidate.py`.
"""
from keras_npu_dump.collector.rules import by_name, by_process, content
from keras_npu_dump.collector.rules.evidence import RULES

__all__ = ["RULES", "by_name", "by_process", "content"]
