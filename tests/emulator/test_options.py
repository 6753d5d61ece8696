"""npu_device's options complain as the adapter's option_base does."""
import pytest

from keras_npu_dump.emulator.api.global_options import NpuConfig


@pytest.fixture
def config():
    return NpuConfig().dump_config


def test_reading_an_option_gives_an_object_whose_value_is_text(config):
    assert config.enable_dump.value == "0"
    config.enable_dump = True
    assert config.enable_dump.value == "1"
    assert config.dump_path.value is None and config.dump_path.default is None


@pytest.mark.parametrize("name, value, error, text", [
    ("enable_dump", "yes", TypeError, "Expected bool, got str"),
    ("enable_dump", "True", TypeError, "Expected bool, got str"),
    ("enable_dump", None, TypeError, "Expected bool, got NoneType"),
    ("dump_mode", None, TypeError, "Expected str, got NoneType"),
    ("dump_mode", 3, TypeError, "Expected str, got int"),
    ("dump_mode", "ALL", ValueError, "'ALL' not in optional list ['input', 'output', 'all']"),
    ("dump_data", "tensors", ValueError, "'tensors' not in optional list ['tensor', 'stats']"),
])
def test_a_wrong_value_is_refused_with_the_adapter_s_words(config, name, value, error, text):
    with pytest.raises(error) as caught:
        setattr(config, name, value)
    assert type(caught.value) is error and str(caught.value) == text


@pytest.mark.parametrize("name, value, text", [
    ("enable_dump", 1, "1"), ("enable_dump", 0, "0"), ("dump_step", 5, "5"),
    ("dump_step", "0|5-", "0|5-"), ("dump_path", "/not/there", "/not/there"),
    ("dump_layer", ["a", "b"], "['a', 'b']"),
])
def test_what_python_lets_through(config, name, value, text):
    setattr(config, name, value)
    assert getattr(config, name).value == text


def test_an_unknown_option_is_refused_with_all_names(config):
    with pytest.raises(ValueError) as caught:
        config.dump_pth = "x"
    assert str(caught.value).startswith("NpuDumpConfig has no option dump_pth, all options [")
    assert "'dump_layer'" in str(caught.value)


def test_the_group_itself_is_not_checked():
    options = NpuConfig()
    options.dump_config = 5
    assert options.dump_config == 5


def test_defaults_travel_with_the_options():
    given = NpuConfig().as_dict()
    assert {name: text for name, text in given.items() if "dump" in name} == {
        "enable_dump": "0", "dump_mode": "output", "enable_dump_debug": "0",
        "dump_debug_mode": "all", "dump_data": "tensor", "enable_exception_dump": "2"}
