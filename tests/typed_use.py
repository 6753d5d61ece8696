"""What a type checker says of a user's code; read by mypy in the lint step, never run.

Each `type: ignore` marks a line that must be refused: one that is accepted is an error,
as unused ignores are here (setup.cfg).
"""
from typing import Optional

import keras_npu_dump
from keras_npu_dump import DumpConfig, DumpSession, NpuDumpCallback
from keras_npu_dump.records.manifest import Manifest


def accepted() -> None:
    callback = NpuDumpCallback(dump_path="a", dump_step=range(3), dump_layer=["x"], strict=True)
    manifest: Optional[Manifest] = callback.manifest
    session = DumpSession(dump_step=None, ranks=[0, 7])
    with session as dump, dump.step():
        pass
    keras_npu_dump.apply(dump_mode="output")
    keras_npu_dump.apply(DumpConfig(dump_data="stats", min_free_gb=1))
    DumpConfig.from_flags(object(), dump_step="0|5")
    found: Manifest = keras_npu_dump.collect("a", verify=True)
    print(manifest, found.pairs, found.problems, len(keras_npu_dump.open_run("a").pairs))


def refused() -> None:
    NpuDumpCallback(dump_mode=5)  # type: ignore[arg-type]
    NpuDumpCallback(dump_mode="both")  # type: ignore[arg-type]
    NpuDumpCallback("a")  # type: ignore[arg-type]
    DumpConfig("a")  # type: ignore[arg-type]
    NpuDumpCallback(dump_stpe="0")  # type: ignore[call-arg]
    DumpSession(dump_data="stat")  # type: ignore[arg-type]
    DumpSession(config="a")  # type: ignore[arg-type]
    keras_npu_dump.apply(strict="yes")  # type: ignore[arg-type]
    DumpConfig(dump_step=1.5)  # type: ignore[arg-type]
    DumpConfig.from_flags(object(), dump_layer=3)  # type: ignore[arg-type]
    keras_npu_dump.collect(5)  # type: ignore[arg-type]
