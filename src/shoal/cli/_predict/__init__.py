"""What the ``shoal predict`` commands share."""
