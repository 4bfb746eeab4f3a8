"""Operations on pixels that are no codec's business."""

from penstock.pixels.quality import ms_ssim, psnr

__all__ = ["ms_ssim", "psnr"]
