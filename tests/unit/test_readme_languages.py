"""Do README.md and README.zh-CN.md say the same, section by section?

Names of options, files, commands and codes are the same in every language: what one page has in
backquotes, in a table, a block or a link, the other has in the same section.
"""
import re

import pytest

from tests.conftest import ROOT

ENGLISH, CHINESE = "README.md", "README.zh-CN.md"
HAN = re.compile("[\u4e00-\u9fff]")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections(file):
    """What stands before the first `##`, and each section."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)


def blocks(section):
    """(language, code) of each fenced block, without what is said beside the code."""
    return [(language, [re.sub(r"\s+#.*" if language else r"(?<=\S) {2,}.*", "", line)
                        for line in code.splitlines()])
            for language, code in FENCED.findall(section)]


def prose(section):
    return FENCED.sub("", section)


def paragraphs(section):
    """Whatever blank lines part, a list or a table as one."""
    return [one for one in re.split(r"\n{2,}", prose(section)) if one.strip()]


def names(text):
    """What stands in backquotes; a placeholder in brackets may be in either language."""
    return {re.sub(r"\[[^]-]*\]", "[]", name) for name in re.findall(r"`([^`]+)`", text)}


def rows(section):
    """The cells of each row of each table."""
    # Within backquotes there are bars that part no cells.
    lines = re.findall(r"^\|(.*)\|$", prose(section), re.MULTILINE)
    return [re.split(r"(?<= )\|(?= )", line) for line in lines]


def links(section):
    """Where links go; each page names the other one."""
    return sorted(target.replace(CHINESE, ENGLISH)
                  for target in re.findall(r"\]\(([^)]+)\)", prose(section)))


def items(section):
    return re.findall(r"^- (.*?)(?=\n- |\n\n|\Z)", prose(section), re.MULTILINE | re.DOTALL)


PAIRS = list(zip(sections(ENGLISH), sections(CHINESE)))
each_section = pytest.mark.parametrize(
    "english, chinese", PAIRS, ids=[str(number) for number in range(len(PAIRS))])


def test_both_have_the_same_number_of_sections():
    assert len(sections(ENGLISH)) == len(sections(CHINESE)) > 5


@each_section
def test_each_is_in_its_language(english, chinese):
    assert not HAN.search(english.replace("[中文说明]", ""))
    assert [one for one in paragraphs(chinese)
            if not HAN.search(one) and one != "# keras_npu_dump"] == []


@each_section
def test_blocks_are_the_same_apart_from_comments(english, chinese):
    assert blocks(english) == blocks(chinese)


@each_section
def test_tables_have_the_same_rows(english, chinese):
    assert ([[names(cell) for cell in row] for row in rows(english)]
            == [[names(cell) for cell in row] for row in rows(chinese)])


@each_section
def test_lists_have_the_same_items(english, chinese):
    assert [names(item) for item in items(english)] == [names(item) for item in items(chinese)]


@each_section
def test_paragraphs_tell_the_same_names(english, chinese):
    assert ([names(one) for one in paragraphs(english)]
            == [names(one) for one in paragraphs(chinese)])


@each_section
def test_links_go_to_the_same_places_and_those_exist(english, chinese):
    assert links(english) == links(chinese)
    assert [target for target in links(english) if not (ROOT / target.split("#")[0]).exists()] == []


def test_blocks_tables_lists_and_links_are_seen():
    whole = "".join(sections(ENGLISH))
    assert len(FENCED.findall(whole)) == whole.count("\n```") // 2 > 5
    assert len(rows(whole)) == len(re.findall(r"^\|", whole, re.MULTILINE)) > 10
    assert len(items(whole)) == len(re.findall(r"^- ", whole, re.MULTILINE)) > 3
    assert len(links(whole)) > 8
