"""What does the callback cost a training in which no iteration is dumped?

    python -m tests.benchmarks.bench_fit [--batches 2000] [--runs 10]

fit() of a small net on the emulator, in turn with a callback whose batch hooks are empty
and with ours, active, its dumped iteration far away. A batch of such a net takes about a
millisecond, and fit's own noise is tens of microseconds a batch: the spread says how far
the medians can be believed. bench_callback measures the hooks alone.
"""
import argparse
import os
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    import numpy as np

    import keras_npu_dump
    keras_npu_dump.emulator.install()
    with tempfile.TemporaryDirectory() as folder:
        config = keras_npu_dump.DumpConfig(dump_path=folder, dump_step="2000000000", collect=False,
                                           min_free_gb=0)
        keras_npu_dump.apply(config)
        import npu_device
        npu_device.open().as_default()
        import tensorflow as tf

        class Empty(tf.keras.callbacks.Callback):
            async_safe = True

            def __init__(self):
                super().__init__()
                self._supports_tf_logs = True

            def on_train_batch_begin(self, batch, logs=None):
                pass

            def on_train_batch_end(self, batch, logs=None):
                pass

        model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(8),
                                     tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x = np.zeros((args.batches * 4, 8), np.float32)
        y = np.zeros((args.batches * 4, 1), np.float32)
        peers = {"empty": Empty(), "ours": keras_npu_dump.NpuDumpCallback()}
        figures = {name: [] for name in peers}
        processor = {name: [] for name in peers}
        for run in range(args.runs + 1):
            names = list(peers) if run % 2 else list(peers)[::-1]
            for name in names:
                started, used = time.perf_counter(), time.process_time()
                model.fit(x, y, batch_size=4, shuffle=False, verbose=0, callbacks=[peers[name]])
                if run:  # the first one traces
                    figures[name].append((time.perf_counter() - started) / args.batches * 1e6)
                    processor[name].append((time.process_time() - used) / args.batches * 1e6)
    print("TensorFlow %s, %d batches, %d runs in turn, microseconds a batch"
          % (tf.__version__, args.batches, args.runs))
    for name, values in figures.items():
        print("%-6s min %7.1f  median %7.1f  max %7.1f   processor: median %7.1f" % (
            name, min(values), statistics.median(values), max(values),
            statistics.median(processor[name])))
    over = [a - b for a, b in zip(figures["ours"], figures["empty"])]
    print("ours over empty: median %.1f (min %.1f, max %.1f), %.1f %% of the median"
          % (statistics.median(over), min(over), max(over),
             100 * statistics.median(over) / statistics.median(figures["empty"])))


if __name__ == "__main__":
    main()
