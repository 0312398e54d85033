"""What an observer knows of one subject: entropies, degrees, posteriors."""
