"""Write the published JSON schemas of certificates from their types. Run after a part of the certificate changed."""

from __future__ import annotations

import json
from pathlib import Path

from shoal.model.certificate import certificate, events

if __name__ == "__main__":
    file = Path(certificate.__file__).with_name("certificate.schema.json")
    file.write_text(json.dumps(certificate.certificate_schema(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    file = file.with_name("event_certificate.schema.json")
    file.write_text(json.dumps(events.event_certificate_schema(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
