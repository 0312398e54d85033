"""Risk of each record in the population, from a dependence model fitted to the sample."""
