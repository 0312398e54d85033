"""Files that a person writes for a prediction: counts, questionnaires, XLSForms."""
