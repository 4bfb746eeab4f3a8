"""What there is: this machine and its codecs, or what is inside an image."""

from penstock.info.image import ImageSummary, describe_image
from penstock.info.installation import CodecSummary, Environment, PlugIn, environment

__all__ = ["CodecSummary", "Environment", "ImageSummary", "PlugIn", "describe_image", "environment"]
