"""The questionnaire meter."""
