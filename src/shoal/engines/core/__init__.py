"""What every engine shares: the contract, the kinds of columns, the table, COUNT as SQL."""
