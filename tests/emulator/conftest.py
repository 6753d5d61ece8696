"""Trainings that several tests look at, each run once."""
import json
import pathlib

import numpy as np
import pytest

from keras_npu_dump.formats import tree
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.tensor import dump_file
from tests.emulator import processes

HERE = pathlib.Path(__file__).resolve().parent


class Trained:
    """What one process of `nets.py` left."""

    def __init__(self, folder, stderr):
        self.folder = folder
        self.stderr = stderr
        self.dump_path = folder / "dump"
        self.graphs = json.loads((folder / "graphs.json").read_text())

    def arrays(self, scenario):
        with np.load(str(self.folder / (scenario + ".npz"))) as file:
            return dict(file)

    def build_files(self):
        """{graph name: Build file}"""
        files = sorted(self.dump_path.glob("graphs/pid_*/ge_proto_*_Build.txt"))
        return {graph_reader.read_head(str(file)).name: file for file in files}

    def graph(self, name):
        """All graphs of a Build file, the root first."""
        return list(graph_reader.read_graphs(str(self.build_files()[name])))

    def steps(self, name):
        """{data_index: folder} of a graph's dumps."""
        return {step.data_index: pathlib.Path(step.path)
                for step in tree.walk_steps(str(self.dump_path)) if step.model_name == name}


def operators(folder):
    """{op_name: [(header, arrays in the order of its entries), ...]} of a dump folder."""
    found = {}
    for file in sorted(tree.list_files(str(folder)), key=lambda file: file.dump.timestamp):
        header, arrays = dump_file.read_file(str(folder / file.name))
        found.setdefault(header.op_name, []).append((header, arrays))
    return found


def inputs(record):
    header, arrays = record
    return [array for entry, array in zip(header.entries, arrays) if entry.kind == "input"]


def outputs(record):
    header, arrays = record
    return [array for entry, array in zip(header.entries, arrays) if entry.kind == "output"]


class Observed:
    """What one process of `observe.py` returned and left."""

    def __init__(self, folder, result, stderr):
        self.folder = folder
        self.result = result
        self.stderr = stderr
        self.dump_path = folder / "dump"

    def steps(self, name):
        """{data_index: folder} of a graph's dumps."""
        return {step.data_index: pathlib.Path(step.path)
                for step in tree.walk_steps(str(self.dump_path)) if step.model_name == name}

    def models(self):
        """Names of all graphs that have a dump folder."""
        return {step.model_name for step in tree.walk_steps(str(self.dump_path))}

    def build_files(self):
        """{graph name: [graphs of its last Build file]}, wherever the files lie."""
        found = {}
        for file in sorted(self.folder.rglob("ge_proto_*_Build.txt")):
            graphs = list(graph_reader.read_graphs(str(file)))
            found[graphs[0].name] = graphs
        return found


@pytest.fixture(scope="session")
def observe(tmp_path_factory):
    """observe(name, **environment) runs a function of observe.py, each only once."""
    known = {}

    def run(name, **env):
        key = (name,) + tuple(sorted(env.items()))
        if key not in known:
            folder = tmp_path_factory.mktemp(name)
            done = processes.run_file(HERE / "observe.py", name, folder, cwd=folder, env=env)
            known[key] = Observed(folder, json.loads(done.stdout.strip().splitlines()[-1]),
                                  done.stderr)
        return known[key]

    return run


def train(folder, dump):
    (folder / "dump").mkdir(parents=True)
    done = processes.run_file(HERE / "nets.py", folder, folder / "dump" if dump else "none",
                              cwd=folder, env={"DUMP_GRAPH_PATH": str(folder / "dump" / "graphs")})
    return Trained(folder, done.stderr)


@pytest.fixture(scope="session")
def dumped(tmp_path_factory):
    """All scenarios, executions 0 and 5 dumped."""
    return train(tmp_path_factory.mktemp("nets") / "dumped", True)


@pytest.fixture(scope="session")
def undumped(tmp_path_factory):
    """All scenarios on the emulated device, nothing dumped."""
    return train(tmp_path_factory.mktemp("nets") / "undumped", False)
