"""``python -m sclcs`` is the ``sclcs`` command."""

from sclcs.cli.main import main

main()
