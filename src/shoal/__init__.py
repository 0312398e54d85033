"""Shoal: how well do people hide in a table? Measure it, predict it, improve it, prove it.

The names below are the public face; each room loads when its name is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.version import __version__

__all__ = [
    "AttackReport", "CheckResult", "ColumnLevels", "Comparison", "CountTable", "EncodedLink", "Encodings", "Estimate",
    "EventMeasurement", "Inspection", "Link", "Measurement", "Meter", "Policy", "Prediction", "Questionnaire", "Registry",
    "Release", "Study", "Table", "Transformed", "Vault", "Verification", "__version__", "anonymize", "anonymize_tables",
    "attack", "attacks", "check", "compare", "count_table", "datasets", "design", "encode", "engines", "errors", "find",
    "hierarchies", "hierarchy", "inspect", "link", "link_encoded", "linkage", "measure", "measures", "model", "open", "predict",
    "prediction", "preview", "protect", "protector", "registry", "release", "report", "search", "steps", "study", "techniques",
    "transform", "verify",
]  # fmt: skip

if TYPE_CHECKING:  # what editors and type checkers see; below is what happens at run time
    from shoal import (
        attacks,
        datasets,
        engines,
        errors,
        find,
        hierarchies,
        linkage,
        measures,
        model,
        prediction,
        protector,
        registry,
        release,
        report,
        search,
        steps,
        techniques,
    )
    from shoal.api.anonymize import anonymize, anonymize_tables
    from shoal.api.arguments import open
    from shoal.api.attack import attack
    from shoal.api.check import check
    from shoal.api.comparison import compare
    from shoal.api.count_table import count_table
    from shoal.api.design import design
    from shoal.api.events import EventMeasurement
    from shoal.api.hierarchy import ColumnLevels, hierarchy
    from shoal.api.inspect import Inspection, inspect
    from shoal.api.link import EncodedLink, Link, encode, link, link_encoded
    from shoal.api.measure import measure
    from shoal.api.measurement import Measurement
    from shoal.api.predict import predict
    from shoal.api.prediction import Prediction
    from shoal.api.preview import preview
    from shoal.api.protect import protect
    from shoal.api.study import study
    from shoal.api.transform import Transformed, transform
    from shoal.api.verify import verify
    from shoal.comparison.result import Comparison
    from shoal.engines.table import Table
    from shoal.linkage.encodings import Encodings
    from shoal.model.attack import AttackReport
    from shoal.model.estimate import Estimate
    from shoal.prediction.questionnaire.meter import Meter
    from shoal.prediction.questionnaire.questionnaire import Questionnaire
    from shoal.protector.vault import Vault
    from shoal.registry.answer.query import Registry
    from shoal.release.claim import Verification
    from shoal.release.counts.table import CountTable
    from shoal.release.gate.result import CheckResult
    from shoal.release.make.release import Release
    from shoal.release.policy.policy import Policy
    from shoal.studies.result import Study
else:
    import importlib

    _WHERE = {
        "AttackReport": "model.attack",
        "CheckResult": "release.gate.result",
        "ColumnLevels": "api.hierarchy",
        "Comparison": "comparison.result",
        "CountTable": "release.counts.table",
        "EncodedLink": "api.link",
        "Encodings": "linkage.encodings",
        "Estimate": "model.estimate",
        "EventMeasurement": "api.events",
        "Inspection": "api.inspect",
        "Link": "api.link",
        "Measurement": "api.measurement",
        "Meter": "prediction.questionnaire.meter",
        "Policy": "release.policy.policy",
        "Prediction": "api.prediction",
        "Questionnaire": "prediction.questionnaire.questionnaire",
        "Registry": "registry.answer.query",
        "Release": "release.make.release",
        "Study": "studies.result",
        "Table": "engines.table",
        "Transformed": "api.transform",
        "Vault": "protector.vault",
        "Verification": "release.claim",
        "anonymize": "api.anonymize",
        "anonymize_tables": "api.anonymize",
        "attack": "api.attack",
        "check": "api.check",
        "compare": "api.comparison",
        "count_table": "api.count_table",
        "design": "api.design",
        "encode": "api.link",
        "hierarchy": "api.hierarchy",
        "inspect": "api.inspect",
        "link": "api.link",
        "link_encoded": "api.link",
        "measure": "api.measure",
        "open": "api.arguments",
        "predict": "api.predict",
        "preview": "api.preview",
        "protect": "api.protect",
        "study": "api.study",
        "transform": "api.transform",
        "verify": "api.verify",
    }

    def __getattr__(name: str) -> object:
        if name in _WHERE:
            value = getattr(importlib.import_module(f"shoal.{_WHERE[name]}"), name)
        elif name in __all__:  # a room
            value = importlib.import_module(f"shoal.{name}")
        else:
            raise AttributeError(f"module 'shoal' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
