"""A script that looks at itself in every kind of child, in a thread and in another program.

Prints {column: {row: what it found}}, with the columns of the table in docs/process.md.
"""
import atexit
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

BEFORE = set(json.loads(os.environ["PROBE_BEFORE"]))


def look():
    """What this process, or thread, is like."""
    emulated = patched = None
    try:
        import npu_device
        emulated = bool(npu_device.__emulated__)
        patched = hasattr(npu_device.open, "_keras_npu_dump_hooks")
    except ImportError:
        pass
    main = sys.modules["__main__"]
    return {
        "signals": [signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
                    signal.getsignal(signal.SIGINT) is signal.default_int_handler,
                    sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))],
        "excepthook": sys.excepthook is sys.__excepthook__,
        "import hooks": emulated,
        "patched functions": patched,
        "threads": sorted(one.name for one in threading.enumerate()
                          if one.name.startswith("keras_npu_dump")),
        "environment": sorted(set(os.environ) - BEFORE - {"PROBE_BEFORE"}),
        "main": [os.path.basename(getattr(main, "__file__", "")), sys.argv[1:],
                 [one for one in sys.path if "children" not in one][:1]],
    }


def tell(pipe):
    found = look()
    print("seen on stdout", flush=True)  # of --json it is stderr
    pipe.send(found)


def sleep():
    time.sleep(60)


def started(context, target, arguments=()):
    child = context.Process(target=target, args=arguments)
    child.start()
    return child


def in_child(context):
    ours, theirs = multiprocessing.Pipe()
    child = started(context, tell, (theirs,))
    assert ours.poll(60), "no answer"
    found = ours.recv()
    child.join()
    return dict(found, exits=child.exitcode, terminate=terminated(context))


def terminated(context):
    child = started(context, sleep)
    child.terminate()
    child.join(60)
    return child.exitcode


def in_thread():
    found = {}

    def work():
        found.update(look(), terminate=terminated(multiprocessing.get_context("fork")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return dict(found, exits=None)


def in_program():
    done = subprocess.run([sys.executable, __file__, "look"], stdout=subprocess.PIPE, timeout=60)
    sleeping = subprocess.Popen(["sleep", "60"])
    sleeping.terminate()
    subprocess.run("echo seen on stdout", shell=True)
    return dict(json.loads(done.stdout.decode()), exits=done.returncode,
                terminate=sleeping.wait())


def main():
    atexit.register(lambda: print("exit handler", os.getpid() == begun, flush=True))
    if "dump" in sys.argv:
        import npu_device

        from keras_npu_dump import DumpSession
        npu_device.open()
        with DumpSession() as dump, dump.step():
            pass
    found = {how: in_child(multiprocessing.get_context(how))
             for how in ("fork", "forkserver", "spawn")}
    found["thread"] = in_thread()
    found["exec"] = in_program()
    child = os.fork()
    if not child:
        sys.exit(7)
    found["fork"]["exits"] = [found["fork"]["exits"], os.waitpid(child, 0)[1] >> 8]
    threading.Thread(target=lambda: (time.sleep(0.3), print("late thread", flush=True))).start()
    with open("found.json", "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    begun = os.getpid()
    if sys.argv[1:] == ["look"]:
        print(json.dumps(look()))
    else:
        main()
