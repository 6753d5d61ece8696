"""A fit of twelve batches that is disturbed in one of them; ends with status 3.

    disturbed_fit.py [BATCH CODE]

Run as a script by `train` below. The code runs at the end of that batch, -1 is before the
fit and 99 after it.
"""
import os
import re
import sys
from typing import Any, List, NamedTuple, Optional

OURS = re.compile(r"keras-npu-dump: (?:(?:warning|error): )?(.*)")
COLLECTED = re.compile(r" \[[a-z-]+\]$")  # the problems of the manifest, which end with their code
USUAL = ("Dump data, graphs and records go to", "The dump folder lies inside",
         "emulator: npu_device", "The first dump is there")


class Trained(NamedTuple):
    """What became of it; `said` are our messages beside those of every run and of collect."""

    status: int
    weights: Optional[str]
    said: List[str]
    stdout: str
    stderr: str


def train(folder: Any, code: str = "pass", batch: int = 5, steps: str = "0-11", before: Any = (),
          options: Any = ()) -> Trained:
    """Trains under `keras-npu-dump run --emulate` with the dump path `d`.

    Args:
      folder: of the process.
      before: a command that runs the rest of its line, such as `unshare`.
    """
    from tests.conftest import run_command
    done = run_command(
        list(before) + [sys.executable, "-m", "keras_npu_dump", "run", "--emulate",
                        "--data_dump_path=d", "--data_dump_step=" + steps,
                        "--data_dump_min_free_gb=0"] + list(options)
        + [os.path.abspath(__file__), str(batch), code], folder, check=False)
    return read(done)


def read(done: Any) -> Trained:
    said = [match.group(1) for match in map(OURS.match, done.stderr.splitlines()) if match]
    weights = re.search(r"^weights (\w+)$", done.stdout, re.M)
    return Trained(done.returncode, weights and weights.group(1),
                   [one for one in said if not one.startswith(USUAL) and not COLLECTED.search(one)],
                   done.stdout, done.stderr)


def main() -> None:
    import hashlib

    import numpy as np
    import tensorflow as tf

    when, code = int(sys.argv[1]), sys.argv[2]
    # Keras 3 draws by a seed of its own.
    getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)(1)
    size = int(os.environ.get("NET_SIZE", "3"))

    class Disturb(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == when:
                exec(code, {"model": self.model})

    model = tf.keras.Sequential([tf.keras.layers.Dense(size, input_shape=(3,)),
                                 tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    x = np.arange(36, dtype=np.float32).reshape(12, 3) / 36
    if when == -1:
        exec(code, {})
    model.fit(x, x.sum(axis=1, keepdims=True), batch_size=1, epochs=1, shuffle=False, verbose=0,
              callbacks=[Disturb()])
    if when == 99:
        exec(code, {})
    print("weights", hashlib.sha256(b"".join(
        one.tobytes() for one in model.get_weights())).hexdigest(), flush=True)
    sys.exit(3)


if __name__ == "__main__":
    main()
