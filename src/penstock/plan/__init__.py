"""Planning: chooses the format of every image so that disk, processor and model are balanced. Measures nothing."""

from penstock.plan.document import Plan, Row, Rows, WhatIf, write_plan
from penstock.plan.make import make_plan
from penstock.plan.mix_problem import Goals
from penstock.plan.rule import CostRule, read_cost_rule

__all__ = ["CostRule", "Goals", "Plan", "Row", "Rows", "WhatIf", "make_plan", "read_cost_rule", "write_plan"]
