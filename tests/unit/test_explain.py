"""Is every problem code explained, in both languages alike, and found by who misspells it?"""
import json
import pathlib
import re

import pytest

import keras_npu_dump
from keras_npu_dump.cli import main
from keras_npu_dump.explain.explanation import CHINESE, ENGLISH, explanations, language_of
from keras_npu_dump.explain.usual_severity import USUAL
from keras_npu_dump.records.problems import SEVERITY
from keras_npu_dump.report.explain_text import explanation_text

CODES = sorted(USUAL)
# Names of options, files and functions: they are the same in every language.
TERMS = re.compile(r"--\w+|\w+[_.]\w+|`keras-npu-dump \w+")


def explain(capsys, *arguments):
    status = main(["explain", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_every_code_has_both_texts_and_no_text_is_of_no_code():
    assert sorted(explanations(ENGLISH)) == sorted(explanations(CHINESE)) == CODES


@pytest.mark.parametrize("code", CODES)
def test_both_say_the_same(code):
    english, chinese = explanations(ENGLISH)[code], explanations(CHINESE)[code]
    assert all(len(text) > 7 and text.isascii() and text.endswith(".") for text in english)
    assert all(re.search("[\u4e00-\u9fff]", text) and text.endswith("。") for text in chinese)
    for one, other in zip(english, chinese):
        assert set(TERMS.findall(one)) == set(TERMS.findall(other))


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_commands_that_are_advised_exist(language, capsys):
    texts = " ".join(" ".join(one) for one in explanations(language).values())
    commands = set(re.findall("`keras-npu-dump ([a-z]+)", texts))
    assert {"collect", "inspect", "doctor"} <= commands
    for command in commands:
        with pytest.raises(SystemExit):
            if main([command, "--help"]) == 0:
                raise SystemExit  # of `run`, which absl prints
    assert set(re.findall(r"(?<!`)--(\w+)", texts)) <= set(
        re.findall(r"--(\w+)", capsys.readouterr().out))


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
@pytest.mark.parametrize("code", CODES)
def test_what_is_printed_is_the_text_in_lines_that_fit(code, language):
    explanation = explanations(language)[code]
    lines = explanation_text(code, explanation, language).splitlines()
    assert lines[0].startswith(code)
    wide = [sum(1 + ("\u2e80" < sign < "\uffef") for sign in line) for line in lines]
    assert max(wide) <= 92
    together = "".join(lines[1:]).replace(" ", "")
    assert all(text.replace(" ", "") in together for text in explanation)
    assert not any(line.strip()[0] in "。，；：、）" for line in lines[1:])


@pytest.mark.parametrize("variables, language", [
    ({}, ENGLISH), ({"LANG": "zh_CN.UTF-8"}, CHINESE), ({"LANG": "C.UTF-8"}, ENGLISH),
    ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, ENGLISH),
    ({"LANG": "en_US", "LC_MESSAGES": "zh_TW"}, CHINESE),
    ({"LC_ALL": "", "LANG": "zh_CN.GB18030"}, CHINESE)])
def test_the_language_is_the_locales(variables, language):
    assert language_of(variables) == language


def test_a_code_is_taken_as_it_is_printed(capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    for given in ("step-missing", "[step-missing]", "STEP_MISSING"):
        status, out, err = explain(capsys, given)
        assert (status, err) == (0, "") and out.startswith("step-missing（错误）\n  含义  ")
        status, out, err = explain(capsys, given, "--lang", "en")
        assert (status, err) == (0, "") and out.startswith("step-missing (error)\n  means  A step")


def test_an_unknown_code_is_answered_with_the_nearest(capsys):
    status, out, err = explain(capsys, "step-mising")
    assert (status, out) == (2, "") and err.startswith("keras-npu-dump: error: CODE: expected ")
    assert "Received: 'step-mising'. Nearest: step-missing" in err and err.count("\n") == 1
    for far in ("zzz", "something-else", "NaN"):
        status, out, err = explain(capsys, far)
        assert (status, out) == (2, "") and err.endswith("Received: '%s'.\n" % far)


def test_every_code_that_doctor_prints_is_explained():
    """They stand in its sources as the first argument of a finding, or before a warning."""
    package = pathlib.Path(keras_npu_dump.__file__).parent
    text = "".join(path.read_text() for path in [
        *package.glob("doctor/*.py"), package / "capture/device/dump_place.py",
        package / "capture/device/dump_blockers.py"])
    printed = set(re.findall(r'(?:Finding|Silencer)\(\s*"([a-z-]+)"', text))
    printed.update(re.findall(r'\("([a-z-]+)", \w+_warning\(', text))
    assert {"ranks", "aoe", "disk-low", "path-name", "in-container"} <= printed <= set(CODES)
    assert len(printed) == 23 and set(CODES) == {*SEVERITY, *printed}


@pytest.mark.parametrize("arguments", [
    ["--lang", "zh", "triage"], ["--lang=zh", "explain", "no-run"], ["triage", "--lang", "zh"],
    ["doctor", "--lang=zh"], ["run", "--lang=zh", "train.py"]])
def test_the_language_is_an_option_of_explain_alone(capsys, arguments):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err == (
        "keras-npu-dump: error: --lang is an option of explain alone, behind its name:"
        " keras-npu-dump explain CODE --lang zh\n")


def test_without_a_code_all_are_listed_a_line_each(capsys):
    status, out, _ = explain(capsys, "--lang=en")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == CODES


@pytest.mark.parametrize("arguments, codes", [([], CODES), (["no-run"], ["no-run"])])
def test_json_is_one_document(capsys, arguments, codes):
    status, out, _ = explain(capsys, "--json", "--lang=zh", *arguments)
    document = json.loads(out)
    assert (status, document["schema"], document["lang"]) == (0, "keras_npu_dump.explain/1", "zh")
    assert [one["code"] for one in document["codes"]] == codes
    assert all(one["severity"] == USUAL[one["code"]] and one["meaning"] and one["why"]
               and one["what_to_do"] for one in document["codes"])
