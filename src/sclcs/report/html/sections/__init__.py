"""The sections of a report: each turns parts of a run into facts for its template."""
