"""Reading the tables of the paper's source, independently of how its CSV files were made."""

import re

NUMBER = re.compile(r"\d+\.\d+|\d+")
NAMES = {
    "random": "random", "kmeans": "kmeans", "forgetting": "forgetting", "entropy": "entropy",
    "el2n": "el2n", "ei2n": "el2n", "aum": "aum", "ccs": "ccs", "eva": "eva", "boss": "boss",
    "sclcs": "sclcs", "sclcsdense": "sclcs-dense", "spsmha": "sps-mha",
}  # fmt: skip
COLUMNS = [(k, ratio) for k in (5, 10, 20) for ratio in (0.1, 0.3, 0.5)]


def table_lines(text, marker):
    """Return the lines with cells of the table that contains the marker."""
    start = text.index(marker)
    body = text[start : text.index(r"\end{tabular}", start)]
    return [line.split(r"\\")[0] for line in body.splitlines() if line.count("&") > 1]


def method(cell):
    """Return our name of a method."""
    letters = re.sub(r"\\(textbf|textsubscript|text|multirow\{2\}\{\*\})|[^A-Za-z0-9\\]", "", cell)
    return NAMES.get(letters.lower().replace("\\", ""))


def values(cell):
    """Return the numbers of a cell: one, or mean and standard deviation."""
    return [float(number) for number in NUMBER.findall(cell)]


def is_number(cell):
    return bool(values(cell)) and not re.search(r"nDCG|multi|Ratio", cell)
