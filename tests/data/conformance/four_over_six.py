"""Writes `nvfp4_four_over_six.safetensors` with ModelOpt's own calibration, on a CPU.

    python four_over_six.py TESTS_DATA

Needs nvidia-modelopt 0.47.0, torch 2.15.0, triton 3.9 and safetensors. The choice is made by a Triton kernel, which runs in
Triton's interpreter here; the checks for a GPU are told that there is one while the kernels are imported.
"""

import contextlib
import os
import sys
import types

os.environ["TRITON_INTERPRET"] = "1"

import torch
from safetensors.torch import load_file, save_file

CASES = ("real_q", "real_ffn", "heavy", "zeros", "moderate", "ties")


def load_modelopt():
    available = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda *_: (8, 0)
    import modelopt.torch.kernels.quantization.gemm
    torch.cuda.is_available = available
    torch.cuda.device = lambda *_: contextlib.nullcontext()
    # A device function that the interpreter lacks.
    import modelopt.torch.kernels.quantization.common.nvfp4_quant as kernel
    kernel.libdevice = types.SimpleNamespace(isnan=lambda x: x != x)
    import modelopt.torch.quantization as quantization
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    return quantization, NVFP4QTensor


# The preset `nvfp4_four_over_six`, of weights alone.
CONFIG = {
    "quant_cfg": [
        {"quantizer_name": "*", "enable": False},
        {"quantizer_name": "*weight_quantizer", "enable": True, "cfg": {
            "num_bits": (2, 1),
            "block_sizes": {-1: 16, "type": "static", "scale_bits": (4, 3), "four_over_six": True}}},
    ],
    "algorithm": {"method": "mse", "fp8_scale_sweep": False, "start_multiplier": 1.0, "stop_multiplier": 1.5,
                  "step_size": 0.5},
}


def main(data):
    quantization, NVFP4QTensor = load_modelopt()
    folder = os.path.join(data, "conformance")
    inputs, out = load_file(os.path.join(folder, "inputs.safetensors")), {}
    for case in CASES:
        weight = inputs[case]
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
        layer.weight.data = weight.clone()
        model = torch.nn.Sequential(layer)
        sample = torch.zeros(1, weight.shape[1], dtype=weight.dtype)
        quantization.quantize(model, CONFIG, lambda model: model(sample))
        layer = model[0]
        scale, scale_2 = NVFP4QTensor.get_weights_scaling_factor_from_quantizer(layer.weight_quantizer, layer.weight)
        packed = NVFP4QTensor.quantize(layer.weight.data.clone(), 16, scale, scale_2)[0]._quantized_data
        fields = {"packed": packed, "scale": scale.to(torch.float8_e4m3fn), "scale_2": scale_2.float().reshape(())}
        for field, tensor in fields.items():
            out[f"{case}.modelopt.{field}"] = tensor.contiguous().clone()
    save_file(out, os.path.join(folder, "nvfp4_four_over_six.safetensors"))


main(sys.argv[1])
