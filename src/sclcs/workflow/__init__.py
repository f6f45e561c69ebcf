"""Long work on whole cohorts: plans, executors and the two-stage run."""
