"""What becomes of a request for a dump, decided with plain values: no device, no folder."""
import os

import pytest

from keras_npu_dump import ranks
from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS
from keras_npu_dump.capture.request.command_line import absolute
from keras_npu_dump.capture.request.notes import note
from keras_npu_dump.capture.request.resolve import ATTACH, CONFIGURE, JOIN, NOTHING, resolve
from keras_npu_dump.capture.request.situation import RUN, Held, Situation
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError, DeviceOpenedError

WHO = "NpuDumpCallback"
DUMPS = {"enable_dump": "1", "dump_path": "/d", "dump_step": "0", "dump_mode": "all"}
RANK_1_OF_2 = {"RANK_SIZE": "2", "RANK_ID": "1", "CM_CHIEF_IP": "a", "CM_CHIEF_PORT": "1",
               "CM_CHIEF_DEVICE": "0"}


def situation(opened=False, held=None, cwd="/cwd", environment=None, run=None, **options):
    return Situation(opened, dict(NPU_DEFAULTS, **options), ranks.read(environment or {}), cwd,
                     held, run)


def held(faces=(WHO,), opened_options=None, said_path="d", **options):
    return Held(DumpConfig(**dict({"dump_path": "/cwd/d"}, **options)), said_path, opened_options,
                faces)


@pytest.mark.parametrize("asked, around, action, dumped", [
    # The device is not open: it is given the request, its folder absolute.
    ({"dump_path": "d"}, {}, CONFIGURE, {"dump_path": "/cwd/d", "enable_dump": True}),
    ({"dump_path": "/d"}, {"cwd": ""}, CONFIGURE, {"dump_path": "/d"}),
    ({"enable_dump_debug": True}, {}, CONFIGURE,
     {"dump_path": "/cwd/output/overflow_dump", "enable_dump": False}),
    # What the script has set and the request leaves open is the script's to say.
    ({}, {"dump_path": "theirs", "dump_step": "3-5"}, CONFIGURE,
     {"dump_path": "/cwd/theirs", "dump_step": "3-5"}),
    ({}, {"enable_dump_debug": "1"}, CONFIGURE, {"enable_dump": False, "enable_dump_debug": True}),
    ({"dump_path": "/cwd/d"}, {"dump_path": "d"}, CONFIGURE, {"dump_path": "/cwd/d"}),
    # A rank that is not chosen dumps nothing.
    ({"ranks": 1}, {"environment": RANK_1_OF_2}, CONFIGURE, {"enable_dump": True}),
    ({"ranks": 0}, {"environment": RANK_1_OF_2}, CONFIGURE,
     {"enable_dump": False, "enable_dump_debug": False}),
    # Also where the script has switched dump on itself, as it does on all ranks.
    ({"ranks": 0, "enable_dump": True}, {"environment": RANK_1_OF_2, "enable_dump": "1"}, CONFIGURE,
     {"enable_dump": False}),
    # The device is open: what it was opened with is dumped.
    ({}, dict(DUMPS, opened=True), ATTACH, {"dump_path": "/d", "dump_step": "0"}),
    ({}, dict(DUMPS, opened=True, dump_step=None, dump_mode="output"), ATTACH,
     {"dump_step": "all", "dump_mode": "output"}),
    ({}, dict(DUMPS, opened=True, dump_mode=None, dump_data=None), ATTACH,
     {"dump_mode": "output", "dump_data": "tensor"}),
    ({"dump_path": "/d", "dump_step": 0}, dict(DUMPS, opened=True), ATTACH, {"dump_path": "/d"}),
    ({}, dict(DUMPS, opened=True, dump_path="d"), ATTACH, {"dump_path": "/cwd/d"}),
    ({"ranks": 0}, {"environment": RANK_1_OF_2, "opened": True}, ATTACH,
     {"enable_dump": False, "dump_path": "/cwd/output/data_dump"}),
    ({}, {"opened": True}, NOTHING, {"enable_dump": False}),
    # This process has its dump already.
    ({}, {"held": held()}, JOIN, {"dump_path": "/cwd/d"}),
    ({"dump_path": "d"}, {"held": held(), "cwd": "/elsewhere"}, JOIN, {"dump_path": "/cwd/d"}),
    ({"dump_step": 5}, {"held": held(dump_step=5), "opened": True}, JOIN, {"dump_step": "5"}),
    ({"ranks": 9}, {"held": held(), "environment": RANK_1_OF_2}, JOIN, {"dump_path": "/cwd/d"}),
    # Where a request names no folder it is not asked what a relative one would be relative to.
    ({}, {"held": held(), "cwd": ""}, JOIN, {"dump_path": "/cwd/d"}),
    ({}, dict(DUMPS, opened=True, cwd=""), ATTACH, {"dump_path": "/d"}),
    ({}, {"dump_path": "/theirs", "cwd": ""}, CONFIGURE, {"dump_path": "/theirs"}),
])
def test_what_is_dumped(asked, around, action, dumped):
    found = resolve(DumpConfig(**asked), WHO, situation(**around))
    assert found.action == action
    values = {name: getattr(found.config, name) for name in dumped}
    if "dump_step" in values:
        values["dump_step"] = str(values["dump_step"])
    assert values == dumped
    assert os.path.isabs(found.config.dump_path) and os.path.isabs(found.asked.dump_path)


@pytest.mark.parametrize("asked, around, error, words", [
    # The script has chosen another dump.
    ({"dump_step": 5}, {"dump_step": "3"}, ConfigError, ["dump_step", "'3'", "'5'"]),
    ({"dump_path": "mine"}, {"dump_path": "theirs"}, ConfigError, ["dump_path", "/cwd/mine"]),
    ({"enable_dump": True}, {"enable_dump_debug": "1"}, ConfigError, ["enable_dump_debug"]),
    # Steps, layers and the like are of data dump: who names them does not want what overflows.
    ({"dump_step": 3}, {"enable_dump_debug": "1"}, ConfigError, ["enable_dump_debug", "'0'"]),
    ({"dump_layer": ["a"]}, {"enable_dump_debug": "1"}, ConfigError, ["enable_dump_debug"]),
    ({}, {"enable_dump": "1", "enable_dump_debug": "1"}, ConfigError, ["Expected one of the two"]),
    # The working directory was deleted.
    ({"dump_path": "d"}, {"cwd": ""}, ConfigError, ["absolute path", "'d'"]),
    ({"dump_path": "/d"}, {"cwd": "", "dump_path": "theirs"}, ConfigError, ["'theirs'"]),
    # Ranks.
    ({}, {"environment": {"RANK_ID": "x"}}, ConfigError, ["RANK_ID"]),
    ({"ranks": 7}, {"environment": RANK_1_OF_2}, ConfigError, ["ranks from 0 to 1", "7"]),
    ({"ranks": 0}, {"environment": {"RANK_SIZE": "2"}}, ConfigError, ["RANK_ID"]),
    # The device was opened with other options, or with none.
    ({"dump_step": 5}, dict(DUMPS, opened=True), DeviceOpenedError, ["dump_step is '0', '5'"]),
    ({"dump_path": "/other"}, dict(DUMPS, opened=True), DeviceOpenedError, ["/other"]),
    ({"dump_path": "/d"}, {"opened": True}, DeviceOpenedError, ["enable_dump is '0'"]),
    ({"strict": True}, {"opened": True}, DeviceOpenedError, ["enable_dump is '0'"]),
    # An earlier request differs.
    ({"dump_step": 5}, {"held": held()}, ConfigError, ["one process has one dump", "dump_step"]),
    ({"dump_step": 5}, {"held": held(), "opened": True}, DeviceOpenedError, ["Swap the two lines"]),
    # Under `run` data dump against overflow detection, whoever asks first.
    ({"enable_dump_debug": True}, {"held": held(faces=(RUN,)), "opened": True}, DeviceOpenedError,
     ["one process has one dump", RUN, "enable_dump_debug"]),
    ({"enable_dump_debug": True}, {"run": DumpConfig(dump_step=5)}, ConfigError,
     ["one process has one dump", "enable_dump is '1' in " + RUN]),
    ({"dump_step": 5}, {"run": DumpConfig(enable_dump_debug=True)}, ConfigError,
     ["enable_dump_debug is '1' in " + RUN]),
    # Under `run` the script contradicts itself.
    ({"dump_step": 5}, {"run": DumpConfig(dump_data="stats"), "dump_step": "3"}, ConfigError,
     ["dump_step", "'3'", "'5'"]),
    ({"dump_step": 5}, {"run": DumpConfig(dump_path="d"), "held": held(faces=(RUN, WHO))},
     ConfigError, ["dump_step is '0' in the script's " + WHO]),
    ({"dump_path": "d"}, {"held": held(said_path="/cwd/d"), "cwd": "/elsewhere"}, ConfigError,
     ["/elsewhere/d"]),
])
def test_what_is_refused(asked, around, error, words):
    with pytest.raises(error) as raised:
        resolve(DumpConfig(**asked), WHO, situation(**around))
    assert type(raised.value) is error
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("run, asked, around, dumped, faces, told", [
    # What the command line gives holds, the rest is the script's to say.
    ({"dump_step": 3}, {"dump_path": "d", "dump_step": 5}, {}, {"dump_path": "/cwd/d",
     "dump_step": "3"}, (RUN, WHO), {"dump_step": ("'5'", "'3'")}),
    ({}, {"dump_path": "d", "dump_step": 5}, {}, {"dump_path": "/cwd/d", "dump_step": "5"},
     (RUN, WHO), {}),
    ({"dump_path": "/r"}, {"dump_path": "d"}, {}, {"dump_path": "/r"}, (RUN, WHO),
     {"dump_path": ("'d'", "'/r'")}),
    ({"dump_path": "/cwd/d", "dump_step": 5}, {"dump_path": "d", "dump_step": "5"}, {},
     {"dump_path": "/cwd/d"}, (RUN, WHO), {}),
    # All operators, all executions, all ranks can be said, too.
    ({"dump_layer": "all", "dump_step": "all"}, {"dump_layer": ["a"], "dump_step": 2}, {},
     {"dump_layer": "", "dump_step": "all"}, (RUN, WHO),
     {"dump_step": ("'2'", "'all'"), "dump_layer": ("'a'", "'all'")}),
    ({"ranks": 1}, {"ranks": "0,1"}, {"environment": RANK_1_OF_2}, {"enable_dump": True},
     (RUN, WHO), {"ranks": ("'0,1'", "'1'")}),
    # Without a choice on the command line the script may detect overflow.
    ({"strict": True}, {"enable_dump_debug": True}, {},
     {"enable_dump": False, "dump_path": "/cwd/output/overflow_dump"}, (RUN, WHO), {}),
    ({"enable_dump_debug": True, "dump_path": "/r"}, {}, {}, {"enable_dump_debug": True},
     (RUN, WHO), {}),
    # The script's own settings.
    ({"dump_step": 3}, {"dump_data": "stats"}, {"dump_step": "7", "dump_mode": "input"},
     {"dump_step": "3", "dump_data": "stats", "dump_mode": "input"}, (RUN, WHO),
     {"dump_step": ("'7'", "'3'")}),
])
def test_the_command_line_of_run_wins(run, asked, around, dumped, faces, told):
    found = resolve(DumpConfig(**asked), WHO, situation(run=DumpConfig(**run), **around))
    values = {name: getattr(found.config, name) for name in dumped}
    values.update({name: str(values[name]) for name in values if name == "dump_step"})
    assert (found.action, values, found.faces) == (CONFIGURE, dumped, faces)
    assert {one.name: (one.asked, one.holds) for side in found.differing
            for one in side.options} == told


def test_the_launcher_wins_over_the_script_s_settings():
    found = resolve(DumpConfig(dump_step=None, dump_data="stats"), RUN, situation(
        dump_step="7", dump_path="theirs", enable_dump="1"))
    # What is everything is no option of ours that is set, so it is taken back.
    assert found.settings == {"dump_step": None} and "dump_step" not in found.config.npu_options
    assert found.config.dump_path == "/cwd/theirs"
    assert note(*found.differing[0]) == (
        "The script's npu_device.global_options().dump_config asks for dump_step='7'."
        " The command line of `keras-npu-dump run` holds: dump_step='all'.")


def test_what_is_set_between_a_callback_and_open_is_set_back():
    run = DumpConfig(dump_step=3)
    around = {"held": held(faces=(RUN, WHO), dump_step=3), "enable_dump": "1", "dump_mode": "all",
              "dump_path": "/cwd/d", "run": run}
    assert resolve(run, RUN, situation(dump_step="3", **around)).settings == {}
    assert resolve(run, RUN, situation(dump_step="4", **around)).settings == {"dump_step": "3"}


def test_after_open_the_script_is_told_what_comes_too_late():
    found = resolve(
        DumpConfig(dump_step=5, dump_layer="x"), WHO,
        situation(opened=True, held=held(faces=(RUN,)), run=DumpConfig(dump_step=0)))
    assert found.action == JOIN
    assert note(*found.differing[0]) == (
        "The script's NpuDumpCallback asks for dump_step='5', dump_layer='x'. The command line of"
        " `keras-npu-dump run` holds: dump_step='0'. npu_device.open() came first, with"
        " dump_layer='all': make it before that, or give `run` --data_dump_layer.")


def test_the_way_out_is_a_flag_of_the_dump_that_there_is():
    overflow = {"enable_dump_debug": True, "dump_path": "/o"}
    found = resolve(DumpConfig(**overflow), WHO, situation(
        opened=True, held=held(faces=(RUN,), enable_dump_debug=True), run=DumpConfig()))
    assert note(*found.differing[0]).endswith("or give `run` --over_dump_path.")


def test_a_strict_request_that_names_no_option_still_wants_a_dump():
    config = DumpConfig(explicit=(), strict=True)
    with pytest.raises(DeviceOpenedError, match="opened without dump"):
        resolve(config, WHO, situation(opened=True))


def test_what_all_ranks_were_asked_for_is_kept_beside_what_this_one_does():
    found = resolve(DumpConfig(ranks=0, dump_path="d"), WHO, situation(environment=RANK_1_OF_2))
    assert (found.config.is_off, found.asked.is_off) == (True, False)
    assert (found.config.dump_path, found.asked.dump_path) == ("/cwd/d", "/cwd/d")
    assert found.said_path == "d"
    assert found.remarks == () and len(found.notes) == 1 and "Rank 1" in found.notes[0]


def test_what_is_explicit_stays_so():
    found = resolve(DumpConfig(dump_data="stats"), WHO, situation(dump_step="3"))
    assert found.config.explicit == found.asked.explicit == {"dump_data"}


def test_without_dump_the_user_is_told_whose_line_comes_too_late():
    found = resolve(DumpConfig(), "DumpSession", situation(opened=True))
    assert found.action == NOTHING and "Make DumpSession before" in found.remarks[-1]


def test_the_side_of_run_comes_first_wherever_it_asks():
    texts = []
    for who, faces in ((WHO, (RUN,)), (RUN, (WHO,))):
        with pytest.raises(ConfigError) as raised:
            resolve(DumpConfig(dump_step=5), who, situation(held=held(faces=faces)))
        texts.append(str(raised.value))
    assert all(text.index(RUN) < text.index("the script's") for text in texts)


def test_folders_are_made_absolute_without_looking():
    home = os.path.expanduser("~")
    assert absolute("~/d", "") == os.path.join(home, "d")
    assert absolute("a/../b", "/cwd") == "/cwd/b"
    assert absolute("/d/", "") == "/d"
