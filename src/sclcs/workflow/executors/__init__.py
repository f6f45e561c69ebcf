"""Ways to run independent tasks: on this machine, or on a Dask cluster.

An executor is a function that takes a function, its inputs and what to do once before, and
yields the results as they come, in any order. Tasks are idempotent and write their own
results, so an executor needs no memory of its own.
"""
