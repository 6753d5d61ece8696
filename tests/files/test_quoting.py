"""Does a value of a dump stay a value, whatever it goes into?"""
import csv
import html.parser
import io
import json
import os
import pickle
import subprocess

import pytest
from absl import flags as absl_flags

from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.files import quoting
from keras_npu_dump.formats import mapping

HOSTILE = [
    "a\n--flagfile=/etc/passwd", "a\rtrain.py", "a\r\nb", "a\x0bb", "a\x85b", "a\u2028b", "\x1b[2J",
    "a\x9bb", "a\u202eb", "a\u2066b", "\udc80", "\ud800", "a\x7f", "a\ufeffb", "a\x00b"]
PLAIN = ["net/dense/MatMul", "für/日本",
         "a'b", 'a"b', "$(touch x)", "`touch x`", "a;b", "#a", "//a",
         "--flagfile=x", "-", "a\\", "a%sb", "{a}", "=1+1", "~/a", "a,b", "a|b", "[bold]a[/bold]",
         "a*?[b]"]


def read_back(lines, folder):
    """What absl makes of a flag file, and what is left over for arguments."""
    path = os.path.join(str(folder), "next.flags")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    values = absl_flags.FlagValues()
    values.set_gnu_getopt(False)
    for name in ("data_dump_path", "data_dump_layer"):
        absl_flags.DEFINE_string(name, None, "", flag_values=values)
    rest = values(["run", "--flagfile=" + path])
    return values, rest[1:]


@pytest.mark.parametrize("value", PLAIN + [" a", "a b"])
def test_a_flag_reads_back_as_it_is(tmp_path, value):
    values, rest = read_back([quoting.flag_comment("x"),
                              quoting.flag_line("data_dump_path", value)], tmp_path)
    assert (values.data_dump_path, rest) == (value, [])


@pytest.mark.parametrize("value", HOSTILE + ["a ", "a\t", "a\u3000"])
def test_a_flag_that_would_not_is_refused(value):
    with pytest.raises(quoting.UnwritableError) as caught:
        quoting.flag_line("data_dump_path", value)
    assert caught.value.value == value
    assert quoting.terminal(str(caught.value)) == str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("text", HOSTILE + PLAIN)
def test_a_comment_stays_one(tmp_path, text):
    values, rest = read_back([quoting.flag_comment(text)], tmp_path)
    assert (values.data_dump_path, values.data_dump_layer, rest) == (None, None, [])


@pytest.mark.parametrize("name", [one for one in PLAIN if " " not in one])
def test_names_of_layers_are_read_back(tmp_path, name):
    line = quoting.flag_line("data_dump_layer", " ".join(map(quoting.layer_name, [name, "b"])))
    values, rest = read_back([line], tmp_path)
    assert rest == []
    assert DumpConfig(dump_path="x", dump_layer=values.data_dump_layer).layers == [name, "b"]


@pytest.mark.parametrize("name", HOSTILE + ["", "a b", " a", "a\xa0b", "a\u3000b"])
def test_names_of_layers_that_would_be_others_are_refused(name):
    with pytest.raises(quoting.UnwritableError):
        quoting.layer_name(name)


@pytest.mark.parametrize("text", PLAIN + [one for one in HOSTILE if one not in ("a\x00b", "\ud800")]
                         + ["", "a b", "\t", "\x1bf", "'\n'"])
def test_a_word_of_the_shell_is_that_word(text):
    word = quoting.shell_word(text)
    assert quoting.terminal(word) == word
    done = subprocess.run(["bash", "-c", 'show() { printf "%s|" "$@"; }; show ' + word + " next"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (os.fsdecode(done.stdout), done.stderr) == (text + "|next|", b"")


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_what_no_word_can_be_is_refused(text):
    with pytest.raises(quoting.UnwritableError):
        quoting.shell_command("echo", text)


@pytest.mark.parametrize("text, cell", [
    ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("+1+cmd", "'+1+cmd"), ("-2+3", "'-2+3"),
    ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"), ("\r=1", "'\r=1"), ("-1.5e-3", "-1.5e-3"),
    ("-inf", "-inf"), ("nan", "nan"), ('a"b', 'a"b'), ("a,b\nc", "a,b\nc"), ("net/MatMul",) * 2,
    (" a", " a"), ("a;b", "a;b")])
def test_a_cell_stays_one_and_computes_nothing(text, cell):
    line = "before,%s,behind\r\n" % quoting.csv_cell(text)
    assert list(csv.reader(io.StringIO(line, newline=""))) == [["before", cell, "behind"]]


@pytest.mark.parametrize("name", ["a,b", "a\nb", "a\r"])
def test_a_line_of_the_mapping_is_as_cann_writes_it_or_refused(tmp_path, name):
    with open(str(tmp_path / "mapping.csv"), "wb") as stream:
        stream.write(quoting.mapping_line("12", 'MatMul.=x "y" \udcff.1.2.3'))
    assert mapping.read_mapping(str(tmp_path)) == {"12": 'MatMul.=x "y" \udcff.1.2.3'}
    with pytest.raises(quoting.UnwritableError):
        quoting.mapping_line("12", name)


class Seen(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("text", ["<script>x</script>", "\" onload=\"x", "' onload='x", "&lt;",
                                  "a\x00", "\udc80", "\u202e", "a\nb"])
def test_html_shows_text_and_nothing_else(text):
    seen = Seen()
    seen.feed('<p title="%s">%s</p>' % ((quoting.html_text(text),) * 2))
    seen.close()
    shown = quoting.terminal_lines(text)
    assert (seen.tags, seen.text) == ([("p", [("title", shown)])], shown)
    seen.text.encode("utf-8")


def test_json_within_a_script_stays_within_it():
    document = {"</script><script>": ["<!--", "\u2028", "\ud800", "&"]}
    text = quoting.script_json(document)
    assert json.loads(text) == document and text.isascii() and not set("<>&") & set(text)


def test_what_a_terminal_would_obey_is_shown():
    for text in HOSTILE:
        assert quoting.terminal(text).isprintable()
        quoting.terminal(text).encode("utf-8")
    for text in PLAIN:
        assert quoting.terminal(text) == text
    assert quoting.terminal_lines("a\n\tb") == "a\n\tb"
