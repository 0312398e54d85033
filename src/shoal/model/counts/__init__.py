"""ClassCounts: what COUNT returns and every decision is made from."""
