"""absl with app.run; the main defines the usual flags itself, and ours on top."""
import tensorflow as tf
from absl import app, flags

import keras_npu_dump

FLAGS = flags.FLAGS
flags.DEFINE_integer("train_epochs", 1, "")
flags.DEFINE_boolean("data_dump_flag", False, "")
flags.DEFINE_string("data_dump_step", "10", "")
flags.DEFINE_string("data_dump_path", "/home/data", "")
flags.DEFINE_boolean("over_dump", False, "")
flags.DEFINE_string("over_dump_path", "/home/data", "")
flags.DEFINE_integer("device_id", 0, "")
keras_npu_dump.flags.define_flags()  # those that exist already stay


def main(argv):
    assert len(argv) == 1, argv
    keras_npu_dump.emulator.install()
    import npu_device
    keras_npu_dump.apply(FLAGS)
    npu_device.open().as_default()
    import small
    dump = keras_npu_dump.NpuDumpCallback(config=keras_npu_dump.DumpConfig.from_flags(FLAGS))
    small.fit(small.model(tf), epochs=FLAGS.train_epochs, callbacks=[dump])


if __name__ == "__main__":
    app.run(main)
