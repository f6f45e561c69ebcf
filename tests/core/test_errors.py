import pytest

from sclcs._core import errors, import_extra


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InputError, ValueError),
        (errors.UnknownNameError, KeyError),
        (errors.NotFoundError, FileNotFoundError),
        (errors.UnreadableFileError, OSError),
        (errors.UnreadableFileError, ValueError),
        (errors.DamagedStoreError, errors.UnreadableFileError),
        (errors.OutputExistsError, FileExistsError),
        (errors.WriteError, OSError),
        (errors.MissingDependencyError, ImportError),
    ],
)
def test_every_error_is_ours_and_the_builtin_a_caller_would_catch(error, builtin):
    assert issubclass(error, errors.SclcsError)
    assert issubclass(error, builtin)
    assert str(error("a plain sentence")) == "a plain sentence"


def test_five_offenders_are_named_and_the_rest_counted():
    assert errors.name_first("abcde") == "a, b, c, d, e"
    assert errors.name_first("abcdef") == "a, b, c, d, e and 1 more"
    assert errors.name_first([]) == ""


def test_a_missing_extra_names_the_command_that_installs_it():
    with pytest.raises(errors.MissingDependencyError, match=r"pip install 'sclcs\[nifti\]'"):
        import_extra("surely_not_installed.module", "nifti")


def test_a_broken_dependency_is_not_reported_as_a_missing_extra(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import another_missing_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="another_missing_package"):
        import_extra("half_there", "nifti")
