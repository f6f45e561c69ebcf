from .check import check_cohort, check_content, check_scans
from .cohort import Cohort, samples_for
from .columns import NEVER_QUANTITIES, unclear, vague_levels
from .coreset import CoreSet
from .describe import describe_cohort, describe_scans, preparation
from .design import cautions, check_design, site_column
from .loading import join_cohorts, label_cohort
from .problems import KINDS, Problem, explain, raise_for
from .readers.abide import read_abide
from .readers.arrays import read_arrays
from .readers.bids import read_bids
from .readers.conn import read_conn
from .readers.folders import read_hcp, read_ukb
from .readers.mne import read_mne
from .readers.nifti import read_nifti
from .readers.recognise import FILE_KINDS, import_scans, load, open_source, recognise
from .readers.rest_meta_mdd import read_rest_meta_mdd
from .regions import dosenbach_places, region_set
from .scans import Scan, Scans
from .series import Series, read_series, scans_of_series, warn_if_swapped
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
from .windows import Seconds, Windowing

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
    "Seconds",
    "Series",
    "SignalArray",
    "Windowing",
    "by_length",
    "cautions",
    "check_cohort",
    "check_content",
    "check_design",
    "check_scans",
    "class_columns",
    "column_kinds",
    "describe_cohort",
    "describe_scans",
    "dosenbach_places",
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
    "read_abide",
    "read_arrays",
    "read_bids",
    "read_conn",
    "read_hcp",
    "read_mne",
    "read_nifti",
    "read_rest_meta_mdd",
    "read_series",
    "read_table_file",
    "read_ukb",
    "recognise",
    "region_set",
    "require_equal_lengths",
    "sample_lengths",
    "samples_for",
    "scans_of_series",
    "simulate_cohort",
    "site_column",
    "table_from_csv",
    "table_to_csv",
    "unclear",
    "vague_levels",
    "warn_if_swapped",
]
