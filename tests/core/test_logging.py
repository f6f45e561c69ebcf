import logging

from sclcs._core.console import get_logger, show_log


def test_levels_follow_the_verbosity(capsys):
    logger = get_logger("sclcs.somewhere")
    show_log(0)
    logger.info("quiet")
    logger.warning("loud")
    show_log(1)
    logger.info("told")
    shown = capsys.readouterr().err
    assert "quiet" not in shown
    assert "loud" in shown
    assert "told" in shown


def test_showing_twice_does_not_print_twice(capsys):
    show_log(0)
    show_log(0)
    get_logger("sclcs.somewhere").warning("once")
    assert capsys.readouterr().err.count("once") == 1
    assert (
        sum(not isinstance(h, logging.NullHandler) for h in logging.getLogger("sclcs").handlers)
        == 1
    )
