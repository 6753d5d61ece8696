"""absl with app.run, knows the device but not us; ends with a status of its own."""
import sys

import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_integer("status", 0, "How to end.")
flags.DEFINE_boolean("data_dump_flag", False, "")
flags.DEFINE_string("data_dump_path", "", "")


def main(argv):
    import npu_device
    npu_device.open().as_default()
    import small
    small.fit(small.model(tf))
    print("arguments", argv[1:], "flag", FLAGS.data_dump_flag)
    sys.exit(FLAGS.status)


if __name__ == "__main__":
    app.run(main)
