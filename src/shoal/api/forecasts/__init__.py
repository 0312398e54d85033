"""The six questions that ``predict`` answers, each from whatever of the distribution is known."""
