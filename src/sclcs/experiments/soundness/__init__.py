"""What the experiment ``soundness`` is made of: simulated groups, old scores under permutation."""
