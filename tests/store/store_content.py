"""What a store holds, without what may differ between two equal runs (times)."""

import hashlib

from sclcs.store.pieces import read_piece

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
        if file.name.startswith("c.0."):
            held, content = read_piece(file), file.read_bytes()
            chunks = {k: content[start : start + n] for k, (start, n) in held.spans.items()}
            entries = held.entries.items()
            found[name] = {
                k: (e.stamp, e.checksum, e.exceptions, chunks.get(k)) for k, e in entries
            }
        else:
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found
