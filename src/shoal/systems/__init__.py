"""Tables of other systems: FHIR Bulk exports become plain tables, OMOP tables get a policy for releasing them together."""

from shoal.systems.fhir import from_fhir
from shoal.systems.folder import Brought
from shoal.systems.omop import from_omop

__all__ = ["Brought", "from_fhir", "from_omop"]
