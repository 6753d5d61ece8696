"""Runs msaccucmp commands without CANN, in an environment that has it.

    python msaccucmp_run.py COMMANDS.json
    python msaccucmp_run.py COMMAND [ARGUMENTS]

COMMANDS.json is a list of argument lists; each is run as the vendor's command
line would run it, and its exit status printed as a line of its own. A single
command ends with that status, as the vendor's does. msaccucmp
parses names, sizes, types and layouts itself; only the message at the head of
a dump file goes through a library of CANN. That library is replaced here by a
double on google.protobuf, which knows nothing of the package under test.
"""
import ctypes
import importlib.util
import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _messages():
    # by its path: the tests' package is not importable here, nor is pytest
    class NoPytest:
        @staticmethod
        def importorskip(name):
            return importlib.import_module(name)
    sys.modules.setdefault("pytest", NoPytest)
    spec = importlib.util.spec_from_file_location(
        "messages", os.path.join(_HERE, "messages.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ParserDouble:
    """libascend_dump_parser.so: one function, from bytes to a JSON file."""

    # Made once: it is loaded anew for every file, and must cost no more than
    # a library does.
    message = None

    def __init__(self, path):
        if ParserDouble.message is None:
            ParserDouble.message = _messages().DUMP["DumpData"]

    def ParseDumpProtoToJson(self, data, size, path):
        from google.protobuf import json_format
        length = int.from_bytes(ctypes.string_at(data, 8), "little")
        raw = ctypes.string_at(data, 8 + length)
        content = json_format.MessageToDict(
            self.message.FromString(raw[8:]),
            preserving_proto_field_name=True)
        with open(os.fsdecode(path), "w", encoding="utf-8") as file:
            json.dump(_numbers(content), file)
        return 0


def _numbers(value):
    """64-bit integers, which protobuf's JSON makes texts, as numbers."""
    if isinstance(value, dict):
        return {key: inner if key in ("name", "value", "op_name", "version",
                                      "dfx_message") else _numbers(inner)
                for key, inner in value.items()}
    if isinstance(value, list):
        return [_numbers(inner) for inner in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


def main():
    root = os.path.join(os.path.dirname(
        importlib.util.find_spec("msprobe").origin), "msaccucmp")
    sys.path.insert(0, root)
    from dump_parse import big_dump_data
    ParserDouble("")
    big_dump_data.BigDumpDataParser.find_shared_library = staticmethod(
        lambda name, relative: os.path.abspath(__file__))
    big_dump_data.ctypes.CDLL = ParserDouble
    import msaccucmp
    if len(sys.argv) > 2:
        sys.exit(msaccucmp.main())
    with open(sys.argv[1], encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        sys.argv = ["msaccucmp.py"] + command
        try:
            msaccucmp.main()
        except SystemExit as error:
            print("STATUS %s" % error.code, flush=True)


if __name__ == "__main__":
    main()
