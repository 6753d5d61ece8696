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
    assert "said 1" in done.stderr and "said 2" in done.stderr
    assert (tmp_path / "mine.log").read_text() == "INFO:root:theirs\n"


def test_a_root_handler_on_stdout_does_not_get_them(tmp_path):
    done = run_python("""
import logging, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO)
from keras_npu_dump import messages
messages.warning("said")
messages.info("hidden")
messages.error("failed")
""", tmp_path)
    assert done.stdout == ""
    assert "said" in done.stderr and "failed" in done.stderr and "hidden" not in done.stderr
    assert "script_under_test.py:" in done.stderr


def test_names_in_a_message_stay_within_their_line_and_command_nothing(tmp_path):
    done = run_python("""
from keras_npu_dump import messages
messages.warning("cannot read %s; first line\\n  second line", "a\\x1b[2J\\u202e\\nFORGED")
""", tmp_path)
    assert "cannot read a\\x1b[2J\\u202e\\nFORGED; first line\n  second line\n" in done.stderr
