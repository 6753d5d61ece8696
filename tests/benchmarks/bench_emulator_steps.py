"""What does the emulator cost a training step?

    python -m tests.benchmarks.bench_emulator_steps [--rounds 5] [--net conv] [--mode fetched]

Each figure is the median of a process of its own, since `as_default()` has no undo; the
settings take turns, and each is divided by the plain process of its round: the median of
those ratios counts, and least and most of them tell how steady the machine was. `plain`
is TensorFlow with the two settings that bit-equality needs, `default` with its own. Goals:
`armed` (steps outside dumped ones) within 10 percent of plain on a net whose step takes
about 100 ms; `fetched` (every operator's values in numpy, before writing) at most 1.6 times
plain on the conv net, beside tfdbg v2. `dropout` is the residual net with dropout, where
Keras 2 needs the twin in every step.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

STEPS = {"residual": 40, "dropout": 40, "conv": 400}
MODES = ("plain", "default", "emulated", "armed", "fetched", "tfdbg")


def build(tf, net):
    """(model, one batch of inputs)"""
    import numpy as np

    from tests.emulator import nets
    if net == "conv":
        return nets.small_conv(tf), nets.arrays(8, 8, 8, 3)
    layers = tf.keras.layers
    inputs = tf.keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(x))
        y = layers.Conv2D(16, 3, padding="same")(layers.ReLU()(y))
        x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(x)
    outputs = layers.Dense(3)(layers.Dropout(0.3)(x) if net == "dropout" else x)
    return tf.keras.Model(inputs, outputs), np.tile(nets.arrays(8, 32, 32, 3), (4, 1, 1, 1))


def child(net, mode, folder, steps):
    """Prints the milliseconds of each step, by the clock and of CPU time."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    if mode in ("emulated", "armed", "fetched"):
        from keras_npu_dump import emulator
        emulator.install()
        import npu_device
        config = npu_device.global_options().dump_config
        if mode != "emulated":
            config.enable_dump, config.dump_path = True, folder
            config.dump_mode = "all"
            config.dump_step = "1000000" if mode == "armed" else "0-1000000"
        npu_device.open().as_default()
        if mode == "fetched":
            from keras_npu_dump.emulator.ge import dump_writer
            dump_writer.write_execution = fetch
    import tensorflow as tf
    if mode in ("plain", "tfdbg"):
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    if mode == "tfdbg":
        tf.debugging.experimental.enable_dump_debug_info(folder, "FULL_TENSOR", 10)
    from tests.emulator import nets
    model, x = build(tf, net)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = tf.data.Dataset.from_tensors((x, nets.labels(len(x)))).repeat(steps)
    times = []

    class Clock(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.started = time.perf_counter(), time.process_time()

        def on_train_batch_end(self, batch, logs=None):
            float(logs["loss"])
            times.append([(time.perf_counter() - self.started[0]) * 1e3,
                          (time.process_time() - self.started[1]) * 1e3])

    model.fit(data, epochs=1, steps_per_epoch=steps, verbose=0, callbacks=[Clock()])
    print(json.dumps(times[steps // 4:]))


def fetch(folder, plan, activation, args, constants, session, model_id):
    """In place of the emulator's writer: every value that it would write, as an array."""
    from keras_npu_dump.emulator.tracer.values import Values
    values = Values(plan, args, constants)
    for op in plan.ops[id(activation.flat)]:
        for source in op.inputs + op.outputs:
            values.get(source, activation)


def run(net, mode, steps):
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1",
                   DUMP_GRAPH_PATH=folder)
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.bench_emulator_steps", "--child", net, mode,
             folder, str(steps)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    if sys.argv[1:2] == ["--child"]:
        net, mode, folder, steps = sys.argv[2:]
        return child(net, mode, folder, int(steps))
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--net", choices=sorted(STEPS), action="append")
    parser.add_argument("--mode", choices=MODES[1:], action="append")
    args = parser.parse_args()
    for net in args.net or STEPS:
        found = {mode: [] for mode in ("plain", *(args.mode or MODES[1:]))}
        for _ in range(args.rounds):
            for mode, figures in found.items():
                figures.append([statistics.median(column)
                                for column in zip(*run(net, mode, STEPS[net]))])
        print("%s: a step, by the clock and of CPU time; medians of %d processes"
              % (net, args.rounds))
        for mode, figures in found.items():
            columns = []
            for own, plain in zip(zip(*figures), zip(*found["plain"])):
                ratios = [one / other for one, other in zip(own, plain)]
                columns.append("%7.2f ms, %.2f of plain (%.2f to %.2f)" % (
                    statistics.median(own), statistics.median(ratios), min(ratios), max(ratios)))
            print("  %-9s %s" % (mode, "; ".join(columns)), flush=True)
    return None


if __name__ == "__main__":
    main()
