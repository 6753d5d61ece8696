"""Which arguments look secret, and which do not?"""
import json

import pytest

from keras_npu_dump.config.masking import masked_arguments
from tests.conftest import run_python

SECRET = "s3cr3t"


@pytest.mark.parametrize("arguments", [
    ["--token=s3cr3t"], ["--token", "s3cr3t"], ["-token", "s3cr3t"], ["-p", "s3cr3t"],
    ["-p=s3cr3t"], ["--hf_token=s3cr3t"], ["--hfToken", "s3cr3t"], ["--TOKEN=s3cr3t"],
    ["--password=a=s3cr3t"], ["--passwd", "s3cr3t"], ["--db-password=s3cr3t"],
    ["--mypassword=s3cr3t"], ["--secret", "s3cr3t"], ["--client_secret=s3cr3t"],
    ["--key=s3cr3t"], ["--api_key=s3cr3t"], ["--apikey", "s3cr3t"], ["--api-key", "s3cr3t"],
    ["--aws_secret_access_key=s3cr3t"], ["--credentials=s3cr3t"], ["--auth=u:s3cr3t"],
    ["--private_key", "s3cr3t"], ["HF_TOKEN=s3cr3t"], ["WANDB_API_KEY=s3cr3t"],
    ["model.auth.token=s3cr3t"], ["+logger.key=s3cr3t"],
    ["--db=postgres://me:s3cr3t@host/db"], ["https://s3cr3t@github.com/a/b"],
    ["me:s3cr3t@host:3306"], ["--url=https://host/x?api_key=s3cr3t&b=2"],
    ['--config={"lr": 1, "token": "s3cr3t"}'], ["-H", "Authorization: Bearer s3cr3t"],
    ["X-Api-Key: s3cr3t"], ["Bearer s3cr3t"], ["--tokens", "s3cr3t"],
    ["--pw", "-s3cr3t"], ["--token", "a", "--token", "s3cr3t"]])
def test_what_looks_secret_is_masked(arguments):
    kept = masked_arguments(["train.py", *arguments, "--epochs=2"])
    assert SECRET not in " ".join(kept) and "***" in " ".join(kept)
    assert len(kept) == len(arguments) + 2
    assert (kept[0], kept[-1]) == ("train.py", "--epochs=2")


@pytest.mark.parametrize("secret", ["hf_" + "a" * 30, "ghp_" + "A1" * 18, "sk-" + "b" * 40,
                                    "AKIA" + "Q" * 16, "eyJhbGciOiJI.eyJzdWIiOiIx.abc"])
def test_keys_in_forms_of_known_issuers_are_masked_wherever_they_stand(secret):
    assert masked_arguments(["t.py", secret, "--x=" + secret]) == ["t.py", "***", "--x=***"]


def test_ordinary_arguments_stay():
    arguments = ["/home/me/token/train.py", "--epochs", "2", "--tokenizer=bert", "--keras_model=x",
                 "--author", "me", "--monkey=1", "--max_tokens=512", "--num_tokens", "30",
                 "s3://bucket/key", "http://host:80/x", "a@b.c", "--keyword=a", "--lr=1e-3", "",
                 "--data_dump_step=0|5", "--private", "--fast", "--passes=3", "12:30:00", "--"]
    assert masked_arguments(arguments) == arguments


def test_a_document_as_an_argument_takes_no_time():
    for text in ("a:", "://", "key=", "eyJ", "\"'", "A", "-"):
        assert len(masked_arguments(["t.py", text * 60000])[1]) < 10000


KEPT = """
import json, sys
import keras_npu_dump
keras_npu_dump.emulator.install()
import npu_device
sys.argv = ["train.py", "--token=s3cr3t", "--epochs", "2"]
dump = keras_npu_dump.DumpSession(dump_path="d", %s)
%s
print(json.dumps(json.load(open(dump._capture.record.path))["script"]))
"""

RUN_SAYS = ("from keras_npu_dump.capture import attach; "
            "attach.start(keras_npu_dump.DumpConfig(dump_path='d', record='%s'), attach.RUN)")


@pytest.mark.parametrize("options, then, kept", [
    ("", "", ["train.py", "--token=***", "--epochs", "2"]),
    ("record='full'", "", ["train.py", "--token=s3cr3t", "--epochs", "2"]),
    ("record='none'", "", ["train.py"]),
    # A later request for the same dump may ask for less, and not for more.
    ("record='full'", "keras_npu_dump.DumpSession(record='none')", ["train.py"]),
    ("record='full'", "keras_npu_dump.DumpSession()",
     ["train.py", "--token=s3cr3t", "--epochs", "2"]),
    ("record='none'", "keras_npu_dump.DumpSession(record='full')", ["train.py"]),
    # The command line of `run` decides, whenever it comes to it, and in a forked child.
    ("record='full'", RUN_SAYS % "none", ["train.py"]),
    ("record='none'", RUN_SAYS % "full", ["train.py", "--token=s3cr3t", "--epochs", "2"]),
    ("record='full'", RUN_SAYS % "none" + "; keras_npu_dump.DumpSession(record='full')",
     ["train.py"])])
def test_the_option_record_governs_what_the_run_record_keeps(tmp_path, options, then, kept):
    done = run_python(KEPT % (options, then), tmp_path)
    assert json.loads(done.stdout.splitlines()[-1]) == kept, done.stderr
    for path in (tmp_path / "d").rglob("*"):
        if path.is_file() and kept != ["train.py", "--token=s3cr3t", "--epochs", "2"]:
            assert b"s3cr3t" not in path.read_bytes()
