"""What all tests share: where the public fixtures lie."""
import contextlib
import logging
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap

import hypothesis
import pytest

# How fast examples come says something of the machine, and nothing of the code.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("any machine")

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
# Where scripts that tests start find their modules, before what is installed.
_NO_TENSORFLOW, _NO_SKLEARN = (str(ROOT / "tests" / name) for name in (
    "no_tensorflow", "no_sklearn"))
PATHS = [str(ROOT), _NO_SKLEARN]
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts a command in the background has it ignore Ctrl-C, and its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_fixtures():
    """The folder of real files found in public; in CI it must be there."""
    folder = SHARED / "fixtures"
    if not folder.is_dir():
        message = "no shared/fixtures beside this clone: real files are not read"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def vendor(tmp_path_factory):
    """Calls the vendor's comparator, msaccucmp; skips, saying why, where it is not."""
    from tests.formats import msaccucmp
    try:
        msaccucmp.python()
    except msaccucmp.Unavailable as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    scratch = tmp_path_factory.mktemp("msaccucmp")
    return lambda commands: msaccucmp.run(commands, scratch)


@pytest.fixture
def caplog(caplog):
    """pytest's, for our messages too: their logger passes nothing on to the root logger."""
    logger = logging.getLogger("keras_npu_dump")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


@contextlib.contextmanager
def without_tensorflow():
    """Scripts that are started meanwhile find an empty module in TensorFlow's place: importing
    npu_device imports it, which takes seconds, and they need none."""
    PATHS.append(_NO_TENSORFLOW)
    try:
        yield
    finally:
        PATHS.pop()


@contextlib.contextmanager
def _with(stub):
    before, PATHS[:] = list(PATHS), [one for one in PATHS if one != stub]
    try:
        yield
    finally:
        PATHS[:] = before


def with_tensorflow():
    """Takes `without_tensorflow` back, for the one script of a file that needs it."""
    return _with(_NO_TENSORFLOW)


def with_sklearn():
    """Scripts that are started meanwhile find scikit-learn, for the examples take their data
    from it."""
    return _with(_NO_SKLEARN)


def python_path(*further):
    """PYTHONPATH of scripts that tests start."""
    return os.pathsep.join([*PATHS, *further])


@pytest.fixture
def no_tensorflow():
    """`without_tensorflow` for a test."""
    with without_tensorflow():
        yield


def fresh_clone(folder):
    """A copy of what is under version control, so that nothing is built in the tree."""
    clone = pathlib.Path(folder) / "clone"
    shutil.copytree(str(ROOT), str(clone), ignore=shutil.ignore_patterns(
        ".git", ".venv*", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "output",
        "build"))
    return clone


def run_python(code, folder, env=None, check=True, args=(), timeout=300):
    """Runs `code` as a script of its own process in `folder`; as_default() has no undo.

    Returns:
      The completed process, with text in stdout and stderr.
    """
    script = pathlib.Path(folder) / "script_under_test.py"
    script.write_text(textwrap.dedent(code), encoding="utf-8")
    return run_command([sys.executable, str(script)] + list(args), folder, env, check, timeout)


def command_environment(env=None):
    """This process's environment without what the caller's shell has set for dumps."""
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith(("DUMP_G", "NPU_", "ASCEND_", "RANK_", "KERAS_NPU_"))}
    variables.update({
        "PYTHONPATH": python_path(), "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0", "PYTHONWARNINGS": "ignore"})
    variables.update(env or {})
    return {name: value for name, value in variables.items() if value is not None}


def run_command(command, folder, env=None, check=True, timeout=300):
    """Runs a command in `folder`, without what the caller's shell has set for dumps."""
    done = subprocess.run(command, cwd=str(folder), env=command_environment(env), timeout=timeout,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if check and done.returncode:
        raise AssertionError("status %d\n%s\n%s" % (done.returncode, done.stdout, done.stderr))
    return done


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_make_scheduler(config, log):
    """The tests of a file run in one process: trainings that several of them look at run once."""
    from xdist.scheduler import LoadFileScheduling
    return LoadFileScheduling(config, log)
