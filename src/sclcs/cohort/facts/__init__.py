"""Facts of scans besides their signals: head motion, and labels that arrive later."""
