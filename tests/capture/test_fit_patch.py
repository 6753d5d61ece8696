"""Does every fit of an unchanged script get the callback, whatever stands in `callbacks`?"""
import sys
import types

from keras_npu_dump.launch.fit_patch import add_to_all_models, add_to_every_fit


class Ours:
    active = True
    model = params = None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params


class CallbackList:
    def __init__(self, callbacks):
        self.callbacks = callbacks
        self.params = {"epochs": 1}

    def append(self, callback):
        self.callbacks.append(callback)


def model_class():
    class Model:
        def fit(self, x=None, epochs=1, verbose="auto", callbacks=None, **options):
            """Trains."""
            return callbacks
    return Model


def patched(make=Ours):
    Model = model_class()
    add_to_every_fit(Model, make)
    return Model


def kinds(callbacks):
    return [type(one).__name__ for one in callbacks]


def test_none_one_a_list_a_tuple_and_positional():
    model = patched()()
    other = object()
    assert kinds(model.fit([1])) == ["Ours"]
    assert kinds(model.fit([1], callbacks=other)) == ["object", "Ours"]
    assert kinds(model.fit([1], callbacks=(other,))) == ["object", "Ours"]
    assert kinds(model.fit([1], 1, "auto", [other])) == ["object", "Ours"]
    assert model.fit.__doc__ == "Trains."


def test_the_users_list_is_not_changed_and_one_callback_serves_all_fits():
    model = patched()()
    mine = [object()]
    first, second = model.fit(callbacks=mine)[-1], model.fit()[-1]
    assert first is second and len(mine) == 1


def test_a_callback_list_is_taken_along():
    model = patched()()
    given = CallbackList([object()])
    assert model.fit(callbacks=given) is given
    ours = given.callbacks[-1]
    assert (ours.model, ours.params) == (model, {"epochs": 1})
    model.fit(callbacks=given)
    assert kinds(given.callbacks) == ["object", "Ours"]


def test_a_fit_that_has_one_already_is_left_alone():
    model = patched()()
    mine = [Ours()]
    assert model.fit(callbacks=mine) is mine


def test_one_that_the_scripts_own_flags_have_switched_off_does_not_count():
    off = Ours()
    off.active = False
    assert kinds(patched()().fit(callbacks=[off])) == ["Ours", "Ours"]


def test_wrong_arguments_are_left_to_keras():
    Model = model_class()
    try:
        Model().fit(1, 2, 3, 4, 5)
    except TypeError as error:
        plain = str(error)
    try:
        patched()().fit(1, 2, 3, 4, 5)
    except TypeError as error:
        assert str(error) == plain


def test_while_there_is_no_callback_yet_fits_are_left_alone():
    answers = [None, Ours()]
    model = patched(lambda: answers.pop(0))()
    assert model.fit() is None
    assert kinds(model.fit()) == kinds(model.fit()) == ["Ours"]


def test_every_generation_of_keras_that_is_imported(monkeypatch):
    for name in ("keras.engine.training", "tensorflow.python.keras.engine.training"):
        module = types.ModuleType(name)
        module.Model = model_class()
        monkeypatch.setitem(sys.modules, name, module)
    add_to_all_models(Ours)
    for name in ("keras.engine.training", "tensorflow.python.keras.engine.training"):
        assert kinds(sys.modules[name].Model().fit()) == ["Ours"]
