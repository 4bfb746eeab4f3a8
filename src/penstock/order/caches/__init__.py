"""What stays in memory between epochs: policies behind one contract, as pure as the order."""

from penstock.order.caches.contract import Cache, EpochCachePlan
from penstock.order.caches.liquid import LiquidCache
from penstock.order.caches.rolling import RollingCache
from penstock.order.caches.table import CACHES, open_cache

__all__ = ["CACHES", "Cache", "EpochCachePlan", "LiquidCache", "RollingCache", "open_cache"]
