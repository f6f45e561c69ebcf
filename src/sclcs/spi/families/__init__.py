"""One file per operator family: a batch of signals in, all requested members out."""
