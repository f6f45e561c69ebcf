"""Settings: default, meaning and check in one place, mistakes in one sentence."""

from typing import Literal

import numpy as np
import pytest

from sclcs._core.errors import InputError, UnknownNameError
from sclcs._core.settings import Names, Settings, setting


class Shared(Settings):
    epochs: int = setting("length of training", 200, ge=1)
    cache: str | None = setting("folder of results", None, decides=False)


class Own(Shared):
    ratio: float = setting("a share", 0.1, gt=0, le=1)
    keep: Literal["low", "high"] = setting("which end", "low")
    power: Literal[1, 2] = setting("a power", 2)
    width: Literal["scott"] | float = setting("a width", "scott")
    regions: Names = setting("some names", ["a"], min_length=1)
    sure: bool = setting("whether", False)
    needed: int = setting("must be given")


def test_own_fields_come_before_shared_ones():
    assert list(Own.helps()) == [
        "ratio", "keep", "power", "width", "regions", "sure", "needed", "epochs", "cache",
    ]  # fmt: skip
    assert Own.defaults()["ratio"] == 0.1
    assert Own.defaults()["needed"] is None
    assert Own.expected() == {
        "ratio": "a number above 0 and at most 1",
        "keep": "one of low, high",
        "power": "one of 1, 2",
        "width": "scott or a number",
        "regions": "a name or a list of names",
        "sure": "True or False",
        "needed": "an integer",
        "epochs": "an integer of at least 1",
        "cache": "a string",
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ratio": 2}, "`ratio` must be a number above 0 and at most 1, got 2."),
        ({"ratio": "0.5"}, "`ratio` must be a number above 0 and at most 1, got '0.5'."),
        ({"epochs": True}, "`epochs` must be an integer of at least 1, got True."),
        ({"epochs": 1.5}, "`epochs` must be an integer of at least 1, got 1.5."),
        ({"power": True}, "`power` must be one of 1, 2, got True."),
        ({"sure": 1}, "`sure` must be True or False, got 1."),
        ({"keep": "all"}, "`keep` must be one of low, high, got 'all'."),
        ({"width": "wide"}, "`width` must be scott or a number, got 'wide'."),
        ({"regions": []}, "`regions` must be a name or a list of names, got []."),
        ({"needed": None}, "`needed` must be an integer, got None."),
    ],
)
def test_a_wrong_value_is_one_sentence(given, says):
    with pytest.raises(InputError) as caught:
        Own(**{"needed": 1} | given)
    assert str(caught.value) == says


def test_what_is_missing_or_unknown_is_named():
    with pytest.raises(InputError, match="`needed` must be an integer, got nothing"):
        Own()
    with pytest.raises(UnknownNameError, match="Unknown parameter epoch; the known ones are ratio"):
        Own(needed=1, epoch=3)


def test_names_may_be_written_in_several_ways():
    for written in ("a, b", ["a", "b"], ("a", "b")):
        assert Own(needed=1, regions=written).regions == ["a", "b"]


def test_numbers_of_numpy_are_numbers():
    given = Own(needed=np.int64(3), ratio=np.float32(0.5), sure=np.bool_(True))
    assert (given.needed, given.ratio, given.sure) == (3, 0.5, True)
    assert type(given.needed) is int


def test_settings_change_by_making_new_ones():
    one = Own(needed=1)
    other = one.change({"ratio": 0.5})
    assert (one.ratio, other.ratio) == (0.1, 0.5)
    assert Own(**other.to_dict()) == other
    with pytest.raises(InputError, match="ratio"):
        one.change({"ratio": 0})
    with pytest.raises(ValueError, match="frozen"):
        one.ratio = 0.2


def test_only_what_decides_a_result_counts():
    deciding = Own(needed=1, cache="here").deciding()
    assert "cache" not in deciding
    assert deciding["needed"] == 1
