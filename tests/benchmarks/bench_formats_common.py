"""What the formats benchmarks share: interleaved timing, and a table.

Each measurement runs ours and the peer in turn, several rounds, so that a busy
machine slows both. Shown are medians and spreads of the wall time, the CPU
time of this process and its children, and the ratio of the medians.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


_CACHE = []  # removed when the process ends


def memory_folder():
    """Where inputs and outputs lie: in memory where the machine has that."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def scratch():
    return tempfile.TemporaryDirectory(prefix="keras_npu_dump_bench_", dir=memory_folder())


def command(*arguments, **options):
    """Runs a command, its output thrown away, as a user at a shell would.

    Compiled modules are kept, as those of an installed package are.
    """
    if not _CACHE:
        _CACHE.append(scratch())
    environment = dict(os.environ, PYTHONPATH=ROOT, PYTHONPYCACHEPREFIX=_CACHE[0].name)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run([str(part) for part in arguments], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=True, env=environment, **options)


def ours(*arguments):
    """The command line of this package, with this interpreter."""
    return command(sys.executable, "-m", "keras_npu_dump", *arguments)


def _cpu():
    return sum(getattr(resource.getrusage(who), field)
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
               for field in ("ru_utime", "ru_stime"))


def timed(action):
    """(wall seconds, CPU seconds) of one call."""
    cpu = _cpu()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start, _cpu() - cpu


class Table:
    """Collects rows and says which goals were reached."""

    def __init__(self, title):
        self.failed = []
        print("%s (Python %d.%d, %s, %d cores, load %.1f)" % (
            title, sys.version_info[0], sys.version_info[1], memory_folder(),
            os.cpu_count(), os.getloadavg()[0]))
        print("%-44s %18s %18s %9s %9s  %s" % (
            "work", "ours ms", "peer ms", "wall", "CPU", "goal"))

    def compare(self, name, mine, peer, faster=None, at_most=None, rounds=5, peer_name="",
                before=None):
        """One row.

        Args:
          mine, peer: called in turn.
          faster: the goal, how many times faster ours is to be.
          at_most: or the goal, how many times the peer's time it may take.
          before: called before each call, not timed (clears outputs).
        """
        times = {"mine": [], "peer": []}
        for _ in range(rounds):
            for key, action in (("mine", mine), ("peer", peer)):
                if before is not None:
                    before()
                times[key].append(timed(action))
        wall, cpu = ([statistics.median(sample[which] for sample in times[key])
                      for key in ("mine", "peer")] for which in (0, 1))
        if faster is not None:
            ratios = [wall[1] / wall[0], cpu[1] / max(cpu[0], 1e-9)]
            goal, reached = "%gx faster" % faster, max(ratios) >= faster
            shown = ["%.1fx" % ratio for ratio in ratios]
        else:
            ratios = [wall[0] / wall[1], cpu[0] / max(cpu[1], 1e-9)]
            goal, reached = "at most %gx" % at_most, min(ratios) <= at_most
            shown = ["%.2f of" % ratio for ratio in ratios]
        print("%-44s %18s %18s %9s %9s  %s: %s%s" % (
            name, _spread(times["mine"]), _spread(times["peer"]), shown[0], shown[1], goal,
            "reached" if reached else "NOT reached",
            ", peer " + peer_name if peer_name else ""), flush=True)
        if not reached:
            self.failed.append(name)
        return ratios

    def end(self):
        """Exit status: 1 if a goal was missed."""
        print("all goals reached" if not self.failed
              else "missed: " + "; ".join(self.failed))
        return 1 if self.failed else 0


def _spread(samples):
    walls = sorted(1000 * sample[0] for sample in samples)
    digits = 0 if walls[0] >= 100 else 1 if walls[0] >= 1 else 3
    return "%.*f [%.*f-%.*f]" % (digits, statistics.median(walls), digits, walls[0], digits,
                                 walls[-1])
