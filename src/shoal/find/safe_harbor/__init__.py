"""the 18 Safe Harbor classes of identifiers of 45 CFR 164.514(b)(2), held against the name and the values of a column."""
