"""Parts of the experiment ``estimation``: truth, designs, measures, bars and tables."""
