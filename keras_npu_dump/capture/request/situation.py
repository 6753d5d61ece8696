"""The process in which a dump is asked for, as it is found."""
from typing import Mapping, NamedTuple, Optional, Sequence

from keras_npu_dump import ranks
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.records.run_record import LAUNCHER

RUN = LAUNCHER
# As npu_device holds them: text by name, None where nothing is set.
Options = Mapping[str, Optional[str]]


class Held(NamedTuple):
    """The dump that this process has already.

    Attributes:
      asked: what all ranks were asked for, its folder absolute.
      said_path: the folder in the words of who asked first.
      opened_options: the options at `npu_device.open()`; None before it, and on a rank
        that `data_dump_ranks` leaves out.
      faces: who has asked so far.
    """

    asked: DumpConfig
    said_path: str
    opened_options: Optional[Options]
    faces: Sequence[str]


class Situation(NamedTuple):
    """The process as it is found.

    Attributes:
      opened: whether the device is open.
      options: what `global_options().dump_config` holds, as text.
      cluster: which of several processes it is.
      cwd: the current directory; "" where it is gone.
      held: the dump that it has already, or None.
      run: what the command line of `keras-npu-dump run` asks for, or None without it.
    """

    opened: bool
    options: Options
    cluster: ranks.Cluster
    cwd: str
    held: Optional[Held]
    run: Optional[DumpConfig] = None
