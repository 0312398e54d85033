"""Tables of counts: crossed from records, protected, attacked, published."""
