"""What if: levels tried from counts, named plans, who would be left out. The studio's Improve page, without a page."""

from shoal.api.improve.effect import Effect, effect, path
from shoal.api.improve.improvement import Improvement, Tried, improve
from shoal.api.improve.offers import Way, ways
from shoal.api.improve.plans import NamedPlan, Plans, find_plans

__all__ = ["Effect", "Improvement", "NamedPlan", "Plans", "Tried", "Way", "effect", "find_plans", "improve", "path", "ways"]
