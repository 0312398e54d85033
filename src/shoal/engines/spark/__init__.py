"""Spark: local, a cluster, or Spark Connect."""
