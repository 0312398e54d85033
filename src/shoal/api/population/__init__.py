"""Risk in the population from a sample table, and the pilot that a questionnaire rests on."""
