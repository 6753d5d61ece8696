"""Most mains: argparse at import, strict; literal_eval booleans; the device opened at import.

The dump block is the one that they all have.
"""
import argparse
import ast
import os

import npu_device

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--over_dump", dest="over_dump", type=ast.literal_eval)
parser.add_argument("--data_dump_flag", dest="data_dump_flag", type=ast.literal_eval)
parser.add_argument("--data_dump_step", default="10")
parser.add_argument("--profiling", dest="profiling", type=ast.literal_eval)
parser.add_argument("--data_dump_path", default="/home/data", type=str)
parser.add_argument("--over_dump_path", default="/home/data", type=str)
args = parser.parse_args()


def npu_config():
    if args.data_dump_flag:
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.global_options().dump_config.dump_path = args.data_dump_path
        npu_device.global_options().dump_config.dump_step = args.data_dump_step
        npu_device.global_options().dump_config.dump_mode = "all"
    if args.over_dump:
        npu_device.global_options().dump_config.enable_dump_debug = True
        npu_device.global_options().dump_config.dump_path = args.over_dump_path
        npu_device.global_options().dump_config.dump_debug_mode = "all"
    if os.environ.get("EXCEPTION_DUMP"):
        npu_device.global_options().enable_exception_dump = int(os.environ["EXCEPTION_DUMP"])
    npu_device.open().as_default()


npu_config()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402


class TimeHistory(tf.keras.callbacks.Callback):
    def on_batch_begin(self, batch, logs=None):
        self.batch = batch

    def on_epoch_end(self, epoch, logs=None):
        print("step: %d loss: %.4f FPS: 1.0" % (self.batch, logs["loss"]))


small.fit(small.model(tf), epochs=args.epochs, callbacks=TimeHistory(),  # a bare callback
          validation_data=(small.X[:8], small.Y[:8]))
