"""The package's own source: which module imports which."""

import ast
import re
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "sclcs"


@cache
def modules():
    """Return the file of every module, by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports_of(name):
    """Return the modules that one imports, at the top, in functions or by a name in a text."""
    path = modules()[name]
    text = path.read_text(encoding="utf-8")
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    # Front doors and the command for a new process name modules in texts.
    found |= set(re.findall(r"\bsclcs(?:\.\w+)+", text))
    return {module for module in found if module in modules() and module != name}


def importers_of(module):
    """Return the files that import a module."""
    return {
        modules()[name].relative_to(PACKAGE).as_posix()
        for name in modules()
        if module in imports_of(name)
    }
