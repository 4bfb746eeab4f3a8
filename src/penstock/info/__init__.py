"""What there is: this machine and its codecs, or what is inside an image."""

from penstock.info.environment import CodecSummary, Environment, PlugIn, environment
from penstock.info.image import ImageSummary, describe_image

__all__ = ["CodecSummary", "Environment", "ImageSummary", "PlugIn", "describe_image", "environment"]
