"""Things to run end to end: the demo; later the paper's tables and figures."""
