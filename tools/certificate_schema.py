"""Write the published JSON schema of a certificate from its types. Run after a part of the certificate changed."""

from __future__ import annotations

import json
from pathlib import Path

from shoal.model.certificate import certificate

if __name__ == "__main__":
    file = Path(certificate.__file__).with_name("certificate.schema.json")
    file.write_text(json.dumps(certificate.certificate_schema(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
