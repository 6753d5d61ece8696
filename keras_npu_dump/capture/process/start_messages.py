"""What is worth knowing before training starts, once."""
from typing import Sequence

from keras_npu_dump import messages
from keras_npu_dump.config.dump_config import DumpConfig


def tell(config: DumpConfig, warnings: Sequence[str]) -> None:
    """Tells the user where the dump goes, and what may become of it.

    Args:
      config: what this process dumps, its folder absolute; it is not off.
      warnings: of the folder, see `dump_place.warnings_of`.
    """
    messages.info("Dump data, graphs and records go to %s", config.dump_path)
    for text in warnings:
        messages.warning("%s", text)
    if config.dump_step.is_all and config.enable_dump and config.dump_data == "tensor":
        messages.warning(
            "Every iteration is dumped, all operators' data each time: tens of gigabytes per"
            " iteration on large networks. dump_step='0' is one iteration, dump_data='stats' is"
            " small.")
