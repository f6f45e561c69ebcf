from .build import check_scans, join_cohorts
from .check import check_cohort, check_content
from .cohort import Cohort, samples_for
from .columns import NEVER_QUANTITIES, unclear, vague_levels
from .coreset import CoreSet
from .describe import describe_cohort, preparation
from .design import cautions, check_design, site_column
from .labels import label_cohort
from .problems import KINDS, Problem, explain, raise_for
from .readers.recognise import (
    FILE_KINDS,
    import_scans,
    load,
    open_source,
    read_scans,
    recognise,
)
from .regions import dosenbach_coordinates, region_set
from .scans import Scan, Scans
from .series import Series, read_series
from .signals import (
    LENGTH_COLUMN,
    LazySignals,
    SignalArray,
    by_length,
    id_order,
    iterate_rows,
    iterate_samples,
    require_equal_lengths,
    sample_lengths,
)
from .simulate import simulate_cohort
from .storage import REPAIR, SAMPLES_FILE, earlier_fingerprints, labelled_since
from .tables import (
    class_columns,
    column_kinds,
    label_column,
    number_columns,
    read_table_file,
    table_from_csv,
    table_to_csv,
)

__all__ = [
    "FILE_KINDS",
    "KINDS",
    "LENGTH_COLUMN",
    "NEVER_QUANTITIES",
    "REPAIR",
    "SAMPLES_FILE",
    "Cohort",
    "CoreSet",
    "LazySignals",
    "Problem",
    "Scan",
    "Scans",
    "Series",
    "SignalArray",
    "by_length",
    "cautions",
    "check_cohort",
    "check_content",
    "check_design",
    "check_scans",
    "class_columns",
    "column_kinds",
    "describe_cohort",
    "dosenbach_coordinates",
    "earlier_fingerprints",
    "explain",
    "id_order",
    "import_scans",
    "iterate_rows",
    "iterate_samples",
    "join_cohorts",
    "label_cohort",
    "label_column",
    "labelled_since",
    "load",
    "number_columns",
    "open_source",
    "preparation",
    "raise_for",
    "read_scans",
    "read_series",
    "read_table_file",
    "recognise",
    "region_set",
    "require_equal_lengths",
    "sample_lengths",
    "samples_for",
    "simulate_cohort",
    "site_column",
    "table_from_csv",
    "table_to_csv",
    "unclear",
    "vague_levels",
]
