"""What does a dump add to the peak memory of a training, and to the time of its process?

    python -m tests.benchmarks.bench_emulator_memory [--net resnet50] [--mode stats] [--rounds 1]

ResNet50 (batch 8, 224x224) and a transformer of six layers (batch 16, 128 tokens of 256),
two steps each, of which the first is dumped whole (dump_mode "all"); each figure is of a
process of its own, and the modes take turns with the undumped one. Goals, in times of the
emulated run without dump: memory 1.3 with statistics and with dump_layer of three operators,
1.6 with tensors; time of the whole process 1.3 for ResNet50 with statistics. With more
rounds the least of each figure counts.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

NETS = ("resnet50", "transformer")
# mode -> how often the undumped peak it may have
MODES = {"undumped": 1.0, "stats": 1.3, "layers": 1.3, "tensor": 1.6}
TIME_GOALS = {("resnet50", "stats"): 1.3}
LAYERS = {
    "resnet50": ("conv1_conv/Conv2D", "conv1_conv/BiasAdd", "conv3_block1_1_relu/Relu",
                 "conv1_conv_1/convolution", "conv1_conv_1/Add", "conv3_block1_1_relu_1/Relu"),
    "transformer": ("wide_0/Relu", "wide_0/BiasAdd", "wide_5/BiasAdd",
                    "wide_0_1/Relu", "wide_0_1/Add", "wide_5_1/Add")}
MODELS = ("model", "functional_1", "functional", "resnet50", "resnet50_1")


def build(tf, net):
    """(model, inputs, labels) of two steps."""
    import numpy as np
    draw = np.random.RandomState(0)
    if net == "resnet50":
        model = tf.keras.applications.ResNet50(weights=None, classes=10)
        x = draw.randn(16, 224, 224, 3).astype("float32")
    else:
        layers = tf.keras.layers
        inputs = tf.keras.Input((128,), dtype="int32")
        x = layers.Embedding(1000, 256)(inputs)
        for number in range(6):
            y = layers.Dropout(0.1)(layers.MultiHeadAttention(8, 32)(x, x))
            x = layers.LayerNormalization(name="even_%d" % number)(layers.Add()([x, y]))
            y = layers.Dense(1024, activation="relu", name="wide_%d" % number)(x)
            y = layers.Dropout(0.1)(layers.Dense(256)(y))
            x = layers.LayerNormalization()(layers.Add()([x, y]))
        x = layers.GlobalAveragePooling1D()(x)
        model = tf.keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
        x = draw.randint(0, 1000, (32, 128)).astype("int32")
    return model, x, np.arange(len(x)) % 10


def child(net, mode, folder):
    """Prints the peak in MB and how many files the training graph left."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    config = npu_device.global_options().dump_config
    if mode != "undumped":
        config.enable_dump, config.dump_path = True, folder
        config.dump_mode, config.dump_step = "all", "0"
        if mode == "stats":
            config.dump_data = "stats"
        if mode == "layers":
            config.dump_layer = " ".join("%s/%s" % (model, op) for model in MODELS
                                         for op in LAYERS[net])
    npu_device.open().as_default()
    import tensorflow as tf
    model, x, y = build(tf, net)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy())
    model.fit(x, y, batch_size=len(x) // 2, epochs=1, verbose=0)
    files = sum(len(names) for root, _, names in os.walk(folder) if "train_function" in root)
    print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, files]))


def run(net, mode):
    """(MB, seconds, files) of a process."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.bench_emulator_memory", "--child", net, mode,
             folder], env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1",
                               DUMP_GRAPH_PATH=folder + "/graphs"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        peak, files = json.loads(done.stdout.strip().splitlines()[-1])
        return peak, seconds, files


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", choices=NETS, action="append")
    parser.add_argument("--mode", choices=sorted(set(MODES) - {"undumped"}), action="append")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    for net in args.net or NETS:
        least = {}
        for _ in range(args.rounds):
            for mode in ["undumped", *(args.mode or list(MODES)[1:])]:
                found = run(net, mode)
                least[mode] = [min(pair) for pair in zip(least.get(mode, found), found)]
        plain = least["undumped"]
        for mode, (peak, seconds, files) in least.items():
            print("%-11s %-8s %6.0f MB peak, %.2f times undumped (goal %.1f); process %5.1f s, %.2f"
                  " times%s; %d files" % (
                      net, mode, peak, peak / plain[0], MODES[mode], seconds, seconds / plain[1],
                      " (goal %.1f)" % TIME_GOALS[(net, mode)] if (net, mode) in TIME_GOALS else "",
                      files), flush=True)
    return None


if __name__ == "__main__":
    main()
