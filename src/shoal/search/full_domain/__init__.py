"""Full-domain generalization: the plan that loses least, proven."""
