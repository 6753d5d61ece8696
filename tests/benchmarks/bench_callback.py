"""What does the callback cost a batch, outside dumped steps?

    python -m tests.benchmarks.bench_callback [--batches 20000] [--runs 15]

Through Keras's own CallbackList, on_train_batch_begin and on_train_batch_end of each
batch. Peers in the same run, in turn: no callback; a callback that sets the same
attributes and overrides the same hooks with empty bodies. Goal: at most 5 microseconds
a batch over the latter on TensorFlow 2.6.5.
"""
import argparse
import os
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def measure(callback_list, batches):
    begin, end = callback_list.on_train_batch_begin, callback_list.on_train_batch_end
    logs = {"loss": 1.0}
    started = time.perf_counter()
    for batch in range(batches):
        begin(batch)
        end(batch, logs)
    return (time.perf_counter() - started) / batches * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=20000)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    import numpy as np
    import tensorflow as tf

    import keras_npu_dump
    keras_npu_dump.emulator.install()

    class Empty(tf.keras.callbacks.Callback):
        async_safe = True

        def __init__(self):
            super().__init__()
            self._supports_tf_logs = True

        def on_train_batch_begin(self, batch, logs=None):
            pass

        def on_train_batch_end(self, batch, logs=None):
            pass

    with tempfile.TemporaryDirectory() as folder:
        config = keras_npu_dump.DumpConfig(dump_path=folder, dump_step="2000000000", collect=False)
        ours = keras_npu_dump.NpuDumpCallback(config=config)
        # A real training function, so that asking for its traces costs what it costs.
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse")
        model.fit(np.zeros((4, 2)), np.zeros((4, 1)), verbose=0)
        lists = {}
        for name, callbacks in (("none", []), ("empty", [Empty()]), ("ours", [ours])):
            lists[name] = tf.keras.callbacks.CallbackList(
                callbacks, add_history=False, model=model, epochs=1, steps=args.batches, verbose=0)
            lists[name].on_train_begin()
            lists[name].on_epoch_begin(0)
        figures = {name: [] for name in lists}
        for run in range(args.runs + 1):
            for name, callback_list in lists.items():
                figure = measure(callback_list, args.batches)
                if run:
                    figures[name].append(figure)
    print("TensorFlow %s, %d batches, %d runs, microseconds a batch"
          % (tf.__version__, args.batches, args.runs))
    for name, values in figures.items():
        print("%-6s min %6.2f  median %6.2f  max %6.2f"
              % (name, min(values), statistics.median(values), max(values)))
    over = [a - b for a, b in zip(figures["ours"], figures["empty"])]
    print("ours over empty: median %.2f (min %.2f, max %.2f), goal at most 5"
          % (statistics.median(over), min(over), max(over)))


if __name__ == "__main__":
    main()
