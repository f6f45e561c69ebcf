from .executors import ExecutorChoice, ExecutorKind, executor_kinds, find_executor
from .executors.local import process_count
from .executors.slurm import SlurmConfig
from .exports import Export, export_matrices
from .fc_store import FCStore, files_digest, matrices_identity
from .fill import (
    Computation,
    FillReport,
    compute_store,
    fill_store,
    is_done,
    open_computation,
    parse_share,
    share_of,
)
from .layout import RESUME, Piece, block_size_for, hold_store
from .work import KnownRows, PieceReport, do_piece, make_orders, rows_in
from .writer import (
    add_operators,
    create_store,
    drop_matrices,
    forget_operators,
    open_or_repair,
    outdated_operators,
    write_piece,
)

__all__ = [
    "RESUME",
    "Computation",
    "ExecutorChoice",
    "ExecutorKind",
    "Export",
    "FCStore",
    "FillReport",
    "KnownRows",
    "Piece",
    "PieceReport",
    "SlurmConfig",
    "add_operators",
    "block_size_for",
    "compute_store",
    "create_store",
    "do_piece",
    "drop_matrices",
    "executor_kinds",
    "export_matrices",
    "files_digest",
    "fill_store",
    "find_executor",
    "forget_operators",
    "hold_store",
    "is_done",
    "make_orders",
    "matrices_identity",
    "open_computation",
    "open_or_repair",
    "outdated_operators",
    "parse_share",
    "process_count",
    "rows_in",
    "share_of",
    "write_piece",
]
