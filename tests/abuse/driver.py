"""Runs commands of keras-npu-dump in children: imports once, forks for each.

As a program it reads requests and writes answers, a JSON document a line. Each child
is a process of its own, so that hangs, memory and tracebacks are real; a fork costs
milliseconds where a start of Python costs a third of a second.
"""
import json
import os
import resource
import signal
import subprocess
import sys
import time

TIMEOUT = 60
# What a child may hold, the interpreter with it.
MEMORY = 1 << 30
# No answer of a small dump is as large; a child that writes a terabyte stops here.
LARGEST = 256 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Driver:
    """The process that forks; one for all trees of a test."""

    def __init__(self, environment, timeout=TIMEOUT):
        self.timeout = timeout
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.abuse.driver"], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, universal_newlines=True)

    def run(self, arguments, folder, place):
        """Runs one command in `folder`; its output goes to files that begin with `place`.

        Returns:
          A dict: status (negative for a signal), memory in bytes, seconds, hung, swollen,
          and stdout and stderr as bytes.
        """
        request = {"arguments": arguments, "folder": folder, "place": place,
                   "timeout": self.timeout}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        for name in ("stdout", "stderr"):
            with open("%s.%s" % (place, name), "rb") as stream:
                answer[name] = stream.read()
        return answer

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)


def serve():
    # What every command would import anew.
    import keras_npu_dump.analysis.inspect.run_contents
    import keras_npu_dump.analysis.triage.triage
    import keras_npu_dump.cli.running
    import keras_npu_dump.collector.collect
    import keras_npu_dump.doctor.diagnosis
    import keras_npu_dump.export.msaccucmp
    import keras_npu_dump.report.manifest_print
    import keras_npu_dump.report.triage_text  # noqa: F401
    from keras_npu_dump.cli import main
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if not pid:
            _child(main, request)
        print(json.dumps(_watch(pid, request["timeout"])), flush=True)


def _child(main, request):
    """Does what a started program would do; never returns."""
    status = 1
    try:
        os.setsid()
        os.chdir(request["folder"])
        for number, name, flags in (
                (0, os.devnull, os.O_RDONLY),
                (1, request["place"] + ".stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                (2, request["place"] + ".stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
            os.dup2(os.open(name, flags, 0o600), number)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            status = main(request["arguments"])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    finally:
        os._exit(status)


def _watch(pid, timeout):
    """Waits for a child; kills it when it takes too long or holds too much."""
    begin = time.monotonic()
    hung = swollen = False
    pause = 0.001
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        hung = hung or time.monotonic() - begin > timeout
        swollen = swollen or _resident(pid) > MEMORY
        if hung or swollen:
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.2, 0.02)
    memory = usage.ru_maxrss * 1024
    return {"status": -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
            "memory": memory, "seconds": round(time.monotonic() - begin, 3), "hung": hung,
            "swollen": swollen or memory > MEMORY}


def _resident(pid):
    try:
        with open("/proc/%d/statm" % pid) as stream:
            return int(stream.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    serve()
