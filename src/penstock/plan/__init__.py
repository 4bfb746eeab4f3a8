"""Chooses the format of every image so that disk, processor and model finish together. Measures and writes nothing."""

from penstock.plan.document import Plan, Row, Rows, WhatIf, write_plan
from penstock.plan.make import make_plan
from penstock.plan.problem import Goals
from penstock.plan.rule import Cheapest, read_cheapest

__all__ = ["Cheapest", "Goals", "Plan", "Row", "Rows", "WhatIf", "make_plan", "read_cheapest", "write_plan"]
