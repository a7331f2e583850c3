//! AVX-512 F, BW, DQ, VL and VBMI.
