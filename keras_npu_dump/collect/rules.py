"""All rules of evidence: importing this fills `evidence.RULES`, in the order in which
their texts are shown."""
from keras_npu_dump.collect import rules_names  # isort: skip
from keras_npu_dump.collect import rules_process  # isort: skip
from keras_npu_dump.collect import rules_content  # isort: skip
from keras_npu_dump.collect.evidence import RULES

__all__ = ["RULES", "rules_content", "rules_names", "rules_process"]
