"""What does a dump add to the peak memory of a training?

    python -m tests.benchmarks.bench_emulator_memory

A residual network at batch 32 and 64x64, six steps, three of them dumped; each figure
is the peak of a process of its own. Goal: with dump_layer of three operators within 300
MB of the undumped run.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

MODES = ("undumped", "three operators", "all operators")


def child(mode, folder):
    """Prints the peak in MB and how many files were written."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    config = npu_device.global_options().dump_config
    if mode != "undumped":
        config.enable_dump, config.dump_path = True, folder
        config.dump_mode, config.dump_step = "all", "2-4"
        if mode == "three operators":
            config.dump_layer = " ".join(
                "%s/%s" % (model, op) for model in ("model", "functional_1", "functional")
                for op in ("first/Conv2D", "last/Relu", "wide/Conv2D", "first_1/convolution",
                           "last_1/Relu", "wide_1/convolution"))
    npu_device.open().as_default()
    import numpy as np
    import tensorflow as tf
    layers = tf.keras.layers
    inputs = tf.keras.Input((64, 64, 3))
    x = layers.Conv2D(16, 3, padding="same", name="first")(inputs)
    for number in range(3):
        y = layers.Conv2D(16, 3, padding="same", name=None if number else "wide")(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(16, 3, padding="same")(y)
        x = layers.ReLU(name="last" if number == 2 else None)(layers.Add()([x, y]))
    model = tf.keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling2D()(x)))
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = np.random.RandomState(0).randn(192, 64, 64, 3).astype("float32")
    model.fit(x, np.arange(192) % 3, batch_size=32, epochs=1, verbose=0)
    files = sum(len(names) for root, _, names in os.walk(folder) if "train_function" in root)
    print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, files]))


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    peaks = {}
    for mode in MODES:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.bench_emulator_memory", "--child", mode,
                 folder], env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1",
                                   DUMP_GRAPH_PATH=folder + "/graphs"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                check=False)
            if done.returncode:
                raise SystemExit(done.stderr[-2000:])
            peaks[mode], files = json.loads(done.stdout.strip().splitlines()[-1])
        print("%-16s %6.0f MB peak, %+5.0f MB, %d files of the training graph" % (
            mode, peaks[mode], peaks[mode] - peaks["undumped"], files))
    return None


if __name__ == "__main__":
    main()
