"""Do our messages leave a script's own logging alone?"""
from tests.conftest import run_python


def test_a_later_basic_config_of_the_script_still_works(tmp_path):
    done = run_python("""
import logging, sys
from keras_npu_dump import messages
messages.warning("said %d", 1)
logging.basicConfig(filename="mine.log", level=logging.INFO)
logging.info("theirs")
messages.warning("said %d", 2)
""", tmp_path)
    assert done.stdout == ""
    assert done.stderr == "keras-npu-dump: warning: said 1\nkeras-npu-dump: warning: said 2\n"
    assert (tmp_path / "mine.log").read_text() == "INFO:root:theirs\n"


def test_a_root_handler_on_stdout_does_not_get_them(tmp_path):
    done = run_python("""
import logging, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO)
from keras_npu_dump import messages
messages.warning("said")
messages.debug("hidden")
messages.info("known")
messages.error("failed")
""", tmp_path)
    assert done.stdout == ""
    assert done.stderr == ("keras-npu-dump: warning: said\nkeras-npu-dump: known\n"
                           "keras-npu-dump: error: failed\n")


def test_no_logging_of_others_switches_them_off_or_dresses_them(tmp_path):
    done = run_python("""
import logging, logging.config
from absl import logging as absl_logging
from keras_npu_dump import messages
messages.warning("first")
logging.config.dictConfig({"version": 1})  # switches off the loggers that it does not name
logging.disable(logging.CRITICAL)
absl_logging.set_verbosity("fatal")
messages.warning("%d of %s", 2, "50 %")
messages.info("100 %")
""", tmp_path)
    assert done.stderr == ("keras-npu-dump: warning: first\nkeras-npu-dump: warning: 2 of 50 %\n"
                           "keras-npu-dump: 100 %\n")


def test_the_logger_is_there_to_hide_information_and_to_listen_beside(tmp_path):
    done = run_python("""
import logging
from keras_npu_dump import messages

class Broken(logging.Handler):
    def emit(self, record):
        print(record.levelname, record.getMessage())
        raise RuntimeError("theirs")

logging.getLogger("keras_npu_dump").addHandler(Broken())
messages.info("one")
logging.getLogger("keras_npu_dump").setLevel(logging.WARNING)
messages.info("hidden")
messages.error("two of %s", "three")
messages.error("%d wrong", "words")
""", tmp_path)
    assert done.stdout == "INFO one\nERROR two of three\nERROR %d wrong ('words',) (TypeError)\n"
    assert done.stderr == ("keras-npu-dump: one\nkeras-npu-dump: error: two of three\n"
                           "keras-npu-dump: error: %d wrong ('words',) (TypeError)\n")


def test_names_in_a_message_stay_within_their_line_and_command_nothing(tmp_path):
    done = run_python("""
from keras_npu_dump import messages
messages.warning("cannot read %s; first line\\n  second line", "a\\x1b[2J\\u202e\\nFORGED")
""", tmp_path)
    assert done.stderr == ("keras-npu-dump: warning: cannot read a\\x1b[2J\\u202e\\nFORGED;"
                           " first line\n  second line\n")
