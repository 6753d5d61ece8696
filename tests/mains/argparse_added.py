"""A main without dump flags of its own, which adds ours; strict argparse; several cards."""
import argparse
import os

import keras_npu_dump
from keras_npu_dump import flags

parser = argparse.ArgumentParser()
parser.add_argument("--device_id", type=int, default=0)
flags.add_arguments(parser)
args = parser.parse_args()

keras_npu_dump.emulator.install()
import npu_device  # noqa: E402

keras_npu_dump.apply(args)
os.chdir(os.path.dirname(os.path.abspath(__file__)))  # shells cd before they train
npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

# One and the same line for all ranks, also for those that data_dump_ranks leaves out.
dump = keras_npu_dump.NpuDumpCallback(config=keras_npu_dump.DumpConfig.from_flags(args))
small.fit(small.model(tf), callbacks=[dump])
