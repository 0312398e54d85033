"""Tables of other systems: FHIR Bulk exports, OMOP tables, REDCap, LimeSurvey and DDI with codebooks, ARX; each with a policy."""

from shoal.systems.arx import from_arx
from shoal.systems.codebook import from_redcap
from shoal.systems.ddi import from_ddi, to_ddi, to_signing_page
from shoal.systems.fhir import from_fhir, from_omop
from shoal.systems.folder import Brought
from shoal.systems.limesurvey import from_limesurvey

__all__ = [
    "Brought", "from_arx", "from_ddi", "from_fhir", "from_limesurvey", "from_omop", "from_redcap", "to_ddi", "to_signing_page",
]  # fmt: skip
