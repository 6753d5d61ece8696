"""Booleans as strings: 'False' is true. The device is opened inside main()."""
import argparse

import keras_npu_dump


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dump_flag", default="False", type=str)
    parser.add_argument("--data_dump_step", default="10", type=str)
    parser.add_argument("--data_dump_path", default="", type=str)
    parser.add_argument("--over_dump", default="False", type=str)
    parser.add_argument("--over_dump_path", default="", type=str)
    args, _ = parser.parse_known_args()

    keras_npu_dump.emulator.install()
    import npu_device
    keras_npu_dump.apply(args)
    npu_device.open().as_default()

    import small
    import tensorflow as tf
    dump = keras_npu_dump.NpuDumpCallback(config=keras_npu_dump.DumpConfig.from_flags(args))
    small.fit(small.model(tf), callbacks=[dump])
    print("manifest" if dump.manifest is not None else "no manifest")


if __name__ == "__main__":
    main()
