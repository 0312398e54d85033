"""Forms that other tools write, read as questionnaires: XLSForm, the dictionary of REDCap, LimeSurvey's survey structure."""

from shoal.forms.files import read_form
from shoal.forms.form import Form, FormQuestion
from shoal.prediction.questionnaire.questions import Flag

__all__ = ["Flag", "Form", "FormQuestion", "read_form"]
