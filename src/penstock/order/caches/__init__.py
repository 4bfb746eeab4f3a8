"""Cache policies behind one contract, as pure as the order."""

from penstock.order.caches.contract import Cache, CacheOrder, EpochCachePlan
from penstock.order.caches.liquid import LiquidCache
from penstock.order.caches.rolling import RollingCache
from penstock.order.caches.table import CACHES, OWN_CACHES, open_cache, policy_of

__all__ = [
    "CACHES",
    "OWN_CACHES",
    "Cache",
    "CacheOrder",
    "EpochCachePlan",
    "LiquidCache",
    "RollingCache",
    "open_cache",
    "policy_of",
]
