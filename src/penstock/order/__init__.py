"""Order of samples per rank: pure functions of seed, epoch and dataset, without a clock, a file or a thread."""

from penstock.lane_counts import MOST_LANES, choose_lanes
from penstock.order.epochs import EpochOrder, Order
from penstock.order.rank_schedule import RankSchedule
from penstock.order.ranks import Batches
from penstock.order.schedule import BatchRange, Schedule
from penstock.order.state import State
from penstock.order.window import WINDOW_LANES, Window

__all__ = [
    "MOST_LANES",
    "WINDOW_LANES",
    "BatchRange",
    "Batches",
    "EpochOrder",
    "Order",
    "RankSchedule",
    "Schedule",
    "State",
    "Window",
    "choose_lanes",
]
