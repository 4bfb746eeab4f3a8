"""Operations on decoded pixels that belong to no codec."""

from penstock.pixels.quality import ms_ssim, psnr

__all__ = ["ms_ssim", "psnr"]
