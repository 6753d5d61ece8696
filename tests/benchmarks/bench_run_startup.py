"""What does `keras-npu-dump run` add to the start of a script?

    python -m tests.benchmarks.bench_run_startup [--runs 10]

Plain `python script` and `run --emulate script` in turn: until the script's first line,
until it has imported TensorFlow with Keras, and to its end. With dump on, the device is opened for
the script after its import of TensorFlow. Time by the clock, and by the processor, which
says more on a busy machine. Goal: within 150 ms beyond TensorFlow's own import.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPT = """
import time
first = time.time(), time.process_time()
import tensorflow as tf
tf.keras.Sequential  # Keras is loaded when it is first used
print(*first, time.time(), time.process_time())
"""
WAYS = {
    "plain": [],
    "run, no dump": ["-m", "keras_npu_dump", "run", "--emulate", "--data_dump_flag=False"],
    "run": ["-m", "keras_npu_dump", "run", "--emulate", "--data_dump_path=d",
            "--data_dump_min_free_gb=0"],
}
COLUMNS = ("first line", "TensorFlow imported", "end")


def measure(way, folder):
    """Milliseconds to each of COLUMNS, by the clock, then by the processor."""
    before, started = used(), time.time()
    done = subprocess.run([sys.executable] + way + ["script.py"], cwd=folder, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    ended, after = time.time(), used()
    first, first_used, imported, imported_used = map(float, done.stdout.split()[:4])
    return [1000 * value for value in (first - started, imported - started, ended - started,
                                       first_used, imported_used, after - before)]


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    os.environ.update(PYTHONPATH=root, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1",
                      TF_ENABLE_ONEDNN_OPTS="0")
    # Installed packages have their bytecode; here it is kept outside the working tree.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    figures = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")
        with open(os.path.join(folder, "script.py"), "w") as file:
            file.write(SCRIPT)
        for run in range(args.runs + 1):
            for name, way in WAYS.items():
                figure = measure(way, folder)
                if run:  # the first one fills caches
                    figures[name].append(figure)
    print("Python %d.%d, %d runs in turn, milliseconds from the start of the process"
          % (sys.version_info[0], sys.version_info[1], args.runs))
    for kind, offset in (("clock", 0), ("processor", 3)):
        print("%-14s" % ("by the " + kind) + "".join("%32s" % name for name in COLUMNS))
        for name, values in figures.items():
            print("%-14s" % name + "".join(
                "   median %6.0f (%5.0f to %5.0f)" % (statistics.median(column), min(column),
                                                     max(column))
                for column in list(zip(*values))[offset:offset + 3]))
        for name in list(WAYS)[1:]:
            over = [statistics.median(a[offset + column] - b[offset + column]
                                      for a, b in zip(figures[name], figures["plain"]))
                    for column in range(3)]
            print("%s over plain, median of the differences: %+.0f, %+.0f (goal at most 150), %+.0f"
                  % (name, over[0], over[1], over[2]))


if __name__ == "__main__":
    main()
