"""The environment of the processes that are started here."""
import os

from tests.conftest import python_path


def environment():
    """The caller's, without what its shell has set for dumps."""
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith(("DUMP_G", "NPU_", "ASCEND_", "RANK_", "KERAS_NPU_"))}
    variables.update({"PYTHONPATH": python_path(), "TF_CPP_MIN_LOG_LEVEL": "2",
                      "CUDA_VISIBLE_DEVICES": "-1", "PYTHONWARNINGS": "ignore"})
    return variables
