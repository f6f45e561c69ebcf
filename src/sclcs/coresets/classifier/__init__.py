"""The classifier of the baselines: how every sample fared while it learned."""
