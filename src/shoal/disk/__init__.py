"""Files and folders that appear whole or not at all, and private ones that are gone afterwards."""
