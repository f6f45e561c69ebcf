"""Choose the right functional-connectivity operator for an fMRI cohort."""

__version__ = "0.1.0.dev0"
