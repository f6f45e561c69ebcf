"""Parts of the experiment ``kinds``: cohorts with a known truth, and what is measured in them."""
