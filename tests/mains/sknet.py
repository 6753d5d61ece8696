"""Opens the device at import, on line one, and reads flags and sets options afterwards."""
import sys

if "--library" in sys.argv:
    import keras_npu_dump
    keras_npu_dump.emulator.install()
import npu_device

npu_device.open().as_default()

import argparse  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--data_dump_flag", default="False")
parser.add_argument("--data_dump_step", default="10")
parser.add_argument("--data_dump_path", default="late")
parser.add_argument("--library", action="store_true")
args = parser.parse_args()

if args.library:
    keras_npu_dump.apply(args)
elif args.data_dump_flag == "True":
    npu_device.global_options().dump_config.enable_dump = True
    npu_device.global_options().dump_config.dump_step = args.data_dump_step
npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

small.fit(small.model(tf))
