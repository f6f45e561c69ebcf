"""The two-stage run: its configuration, its folder and its stages."""
