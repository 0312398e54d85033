"""From a policy and a table to the plan that loses least: count, build hierarchies, search, look at the classes that it gives."""
