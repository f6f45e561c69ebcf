"""What a store holds, without what may differ between two equal runs (times)."""

import hashlib

from sclcs.spi.fc_records import read_record

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
            entries = read_record(file)
            found[name] = {k: (e.version, e.checksum, e.exceptions) for k, e in entries.items()}
        else:
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found
