"""What a store holds, without what may differ between two equal runs (times)."""

import hashlib

from sclcs.spi.packing.piece_files import read_piece_file
from sclcs.spi.packing.shard_records import read_columns

# Several families, cheap, quick to load.
OPERATORS = [
    "cov_EmpiricalCovariance",
    "prec_OAS",
    "pec",
    "pec_orth",
    "pdist_cosine",
    "xcorr_mean_sig-True",
]


def content(path):
    """Return the bytes of every file by name; records without their seconds."""
    found = {}
    for file in sorted(path.rglob("*")):
        name = str(file.relative_to(path))
        if not file.is_file() or name.startswith(".lock"):
            continue
        if name.startswith("tasks/"):
            columns = read_columns(file)
            found[name] = {k: (c.version, c.checksums, c.exceptions) for k, c in columns.items()}
        elif name.startswith("pieces/"):
            held = read_piece_file(file)
            found[name] = {k: (e.version, e.checksum, e.exceptions) for k, (e, _) in held.items()}
        else:
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found
