"""Writes `integers.safetensors`, and the checkpoints `autoawq`, `autogptq`, `gptqmodel`, `quark` and `quark-e3m2`, with the
packing code of the tools themselves.

    python integers.py SOURCES TESTS_DATA

SOURCES holds the unpacked releases `autoawq-0.2.9`, `auto_gptq-0.7.1` and `gptqmodel-7.7.0`, and the folder `quark` of
amd-quark 0.13's wheel; needs torch, numpy and safetensors. Nothing is computed here but the inputs, and what GPTQModel's
stand for: modules of the tools are loaded from their files, and what those import beyond torch and numpy is replaced by
stand-ins that are never called.
"""

import hashlib
import importlib.util
import json
import os
import sys
import types
from unittest import mock

import numpy
import torch
from safetensors.torch import save_file

torch.manual_seed(5)


def load(path, name, package=None, stand_ins=()):
    """The module in a file, with stand-ins for what it imports."""
    names = {stand_in: mock.MagicMock() for stand_in in stand_ins}
    with mock.patch.dict(sys.modules, names):
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        if package:
            module.__package__ = package
        spec.loader.exec_module(module)
    return module


def weight(rows, cols, group, bits):
    """A linear layer on the grid of its groups, with scales and zero points that reach both ends."""
    groups = cols // group
    scales = (torch.rand(rows, groups) * 0.05 + 0.001).half().float()
    zeros = torch.randint(1, 2**bits, (rows, groups)).float()
    codes = torch.randint(0, 2**bits, (rows, cols)).float()
    codes[:, ::group], codes[:, 1::group] = 0, 2**bits - 1
    return scales, zeros, codes


def linear(codes, scales, zeros, group_of):
    layer = torch.nn.Linear(codes.shape[1], codes.shape[0], bias=False)
    layer.weight.data = (codes - zeros[:, group_of]) * scales[:, group_of]
    return layer


def load_awq(sources):
    stand_ins = ["awq", "awq.utils", "awq.utils.module", "awq.utils.utils", "awq.utils.packing_utils", "awq.modules",
                 "awq.modules.triton", "awq.modules.triton.gemm"]
    root = os.path.join(sources, "autoawq-0.2.9", "awq")
    packing = load(os.path.join(root, "utils", "packing_utils.py"), "awq_packing")
    with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in stand_ins}):
        sys.modules["awq.utils.module"].try_import = lambda _: (None, "")
        sys.modules["awq.utils.utils"].get_best_device = lambda: "cpu"
        sys.modules["awq.utils.packing_utils"] = packing
        return load(os.path.join(root, "modules", "linear", "gemm.py"), "awq_gemm"), packing


def pack_awq(gemm, rows, cols, group):
    scales, zeros, codes = weight(rows, cols, group, 4)
    zeros[0, 0] = 0
    layer = linear(codes, scales, zeros, torch.arange(cols) // group)
    return gemm.WQLinear_GEMM.from_linear(layer, 4, group, scales=scales.t().contiguous(), zeros=zeros.t().contiguous())


def awq(sources, out):
    gemm, packing = load_awq(sources)
    for case, rows, cols, group in (("awq_32x32_g8", 32, 32, 8), ("awq_32x16_row", 32, 16, 16), ("awq_64x64_g32", 64, 64, 32)):
        packed = pack_awq(gemm, rows, cols, group)
        values = packing.dequantize_gemm(packed.qweight, packed.qzeros, packed.scales, 4, group)
        put(out, case, qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales, dequant=values.t())


def stand_in_transformers():
    transformers = mock.MagicMock()
    transformers.pytorch_utils.Conv1D = type("Conv1D", (), {})
    return transformers


def load_auto_gptq(sources):
    path = os.path.join(sources, "auto_gptq-0.7.1", "auto_gptq", "nn_modules", "qlinear", "qlinear_cuda.py")
    names = {"transformers": stand_in_transformers(), "autogptq_cuda_64": None, "autogptq_cuda_256": None}
    with mock.patch.dict(sys.modules, names):
        return load(path, "auto_gptq_qlinear")


def pack_auto_gptq(module, rows, cols, group, bits, order):
    scales, zeros, codes = weight(rows, cols, group, bits)
    group_of = torch.arange(cols) // group
    if order == "sorted":
        group_of = group_of[torch.randperm(cols)]
    layer = linear(codes, scales, zeros, group_of)
    packed = module.QuantLinear(bits, group, cols, rows, bias=False, weight_dtype=torch.float16)
    packed.pack(layer.half(), scales.half(), zeros.half(), group_of.to(torch.int32))
    packed.g_idx = packed.g_idx.to(torch.int32)
    return packed


def gptq_version_1(sources, out):
    module = load_auto_gptq(sources)
    for bits in (2, 4, 8):
        for order in ("plain", "sorted"):
            packed = pack_auto_gptq(module, 32, 64, 16, bits, order)
            # The identity through the layer is its weight, transposed.
            values = packed(torch.eye(64, dtype=torch.float16))
            put(out, f"gptq_v1_{bits}_{order}", qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales,
                g_idx=packed.g_idx, dequant=values.t())


def load_gptqmodel(sources):
    root = os.path.join(sources, "gptqmodel-7.7.0", "gptqmodel")
    planar = load(os.path.join(root, "utils", "planar_packing.py"), "planar_packing", "gptqmodel.utils")
    names = ["gptqmodel", "gptqmodel.adapter", "gptqmodel.adapter.adapter", "gptqmodel.models", "gptqmodel.models._const",
             "gptqmodel.quantization", "gptqmodel.utils", "gptqmodel.utils.backend", "gptqmodel.utils.env",
             "gptqmodel.utils.logger", "gptqmodel.utils.safe", "gptqmodel.nn_modules", "gptqmodel.nn_modules.qlinear._runtime_cache"]
    stand_ins = {name: mock.MagicMock() for name in names}
    stand_ins |= {"transformers": stand_in_transformers(), "gptqmodel.utils.planar_packing": planar}
    with mock.patch.dict(sys.modules, stand_ins):
        path = os.path.join(root, "nn_modules", "qlinear", "__init__.py")
        spec = importlib.util.spec_from_file_location("gptqmodel.nn_modules.qlinear", path, submodule_search_locations=[])
        module = importlib.util.module_from_spec(spec)
        sys.modules["gptqmodel.nn_modules.qlinear"] = module
        spec.loader.exec_module(module)
        return module


def pack_gptqmodel(module, rows, cols, group, bits):
    scales, zeros, codes = weight(rows, cols, group, bits)
    zeros[0, 0] = 0
    group_of = torch.arange(cols) // group
    layer = linear(codes, scales, zeros, group_of)
    packed = types.SimpleNamespace(bits=bits, planar=False, maxq=2**bits - 1, pack_dtype_bits=32, pack_factor=32 // bits,
                                   pack_np_math_dtype=numpy.uint32, pack_np_dtype=numpy.int32)
    packed.register_buffer = lambda name, value: setattr(packed, name, value)
    module.PackableQuantLinear.pack_original(packed, layer, scales, zeros, group_of.to(torch.int32))
    return packed, codes, zeros


def gptq_version_2(sources, out):
    module = load_gptqmodel(sources)
    for bits in (2, 4, 8):
        packed, codes, zeros = pack_gptqmodel(module, 32, 64, 16, bits)
        put(out, f"gptq_v2_{bits}", qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales,
            g_idx=packed.g_idx, codes=codes.to(torch.uint8), zeros=zeros.to(torch.uint8))


def load_quark(sources):
    names = ["quark", "quark.torch", "quark.torch.quantization", "quark.torch.quantization.config",
             "quark.torch.quantization.config.type", "quark.torch.quantization.constants", "quark.torch.quantization.utils",
             "quark.torch.utils", "quark.torch.utils.numerics"]
    root = os.path.join(sources, "quark", "quark", "torch", "utils")
    return load(os.path.join(root, "pack.py"), "quark_pack", stand_ins=names), load(os.path.join(root, "numerics.py"), "quark_numerics")


def quark(sources, out):
    pack, _ = load_quark(sources)
    for name, e_bits, m_bits in (("e2m3", 2, 3), ("e3m2", 3, 2)):
        method = pack.Pack_fp6(None, f"fp6_{name}", e_bits, m_bits)
        # Every code once, in two rows; what a code means is the tool's own unpacking of it.
        codes = torch.cat([torch.arange(64), torch.arange(64).flip(0)]).reshape(2, 64).to(torch.int64)
        words = sum(codes.reshape(2, -1, 4)[..., i] << (6 * i) for i in range(4))
        guess = torch.stack([words >> 8 * i & 255 for i in range(3)], -1).reshape(2, -1).to(torch.uint8)
        values = method.unpack(guess, False)
        put(out, f"quark_{name}", packed=method.pack(values, False), dequant=values)
    values = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    values = torch.cat([values, -values, values.flip(0), -values.flip(0)]).reshape(1, 32)
    put(out, "quark_e2m1", packed=pack.Pack_fp4(None, "fp4").pack(values, False), dequant=values)


def put(out, case, **fields):
    for field, tensor in fields.items():
        out[f"{case}.{field}"] = tensor.detach().contiguous().clone()


class Checkpoint:
    """A folder of single weights, and what its tool reads in them."""

    def __init__(self, config):
        self.tensors, self.expected = {}, {}
        self.config = {"model_type": "tiny", "quantization_config": config}

    def add(self, module, values, **parts):
        put(self.tensors, f"model.layers.0.{module}", **parts)
        values = values.detach().float().contiguous() + 0.0
        sha256 = lambda tensor: hashlib.sha256(tensor.view(torch.uint8).numpy().tobytes()).hexdigest()
        self.expected[f"model.layers.0.{module}.weight"] = {
            "shape": list(values.shape), "absmax": float(values.abs().max()), "sum": float(values.double().sum()),
            "sha256_f32": sha256(values), "sha256_bf16": sha256(values.to(torch.bfloat16))}

    def save(self, data, name):
        folder = os.path.join(data, "checkpoints", name)
        os.makedirs(folder, exist_ok=True)
        save_file(self.tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})
        for path, value in (("config.json", self.config), (f"../{name}.expected.json", self.expected)):
            with open(os.path.join(folder, path), "w") as file:
                file.write(json.dumps(value, indent=1) + "\n")


def awq_checkpoint(sources, data):
    gemm, packing = load_awq(sources)
    checkpoint = Checkpoint({"quant_method": "awq", "zero_point": True, "group_size": 32, "bits": 4, "version": "gemm",
                             "modules_to_not_convert": None})
    for module, rows, cols in (("self_attn.q_proj", 32, 64), ("mlp.down_proj", 64, 96)):
        packed = pack_awq(gemm, rows, cols, 32)
        # Scales in F32, so that nothing is rounded to F16.
        values = packing.dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, 32)
        checkpoint.add(module, values.t(), qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales)
    checkpoint.save(data, "autoawq")


def gptq_checkpoints(sources, data):
    module = load_auto_gptq(sources)
    config = {"quant_method": "gptq", "bits": 4, "group_size": 16, "desc_act": True, "sym": False, "true_sequential": True,
              "damp_percent": 0.01, "checkpoint_format": "gptq"}
    checkpoint = Checkpoint(config)
    for name, rows, cols, order in (("self_attn.q_proj", 32, 64, "plain"), ("mlp.down_proj", 64, 96, "sorted")):
        packed = pack_auto_gptq(module, rows, cols, 16, 4, order)
        stored = packed.scales
        packed.scales = stored.float()
        values = packed(torch.eye(cols)).t()
        checkpoint.add(name, values, qweight=packed.qweight, qzeros=packed.qzeros, scales=stored, g_idx=packed.g_idx)
    checkpoint.save(data, "autogptq")

    module = load_gptqmodel(sources)
    checkpoint = Checkpoint(config | {"bits": 8, "desc_act": False, "checkpoint_format": "gptq_v2"})
    for name, rows, cols in (("self_attn.q_proj", 32, 64), ("mlp.down_proj", 64, 96)):
        packed, codes, zeros = pack_gptqmodel(module, rows, cols, 16, 8)
        group_of = packed.g_idx.long()
        values = (codes - zeros[:, group_of]) * packed.scales.float().t()[:, group_of]
        checkpoint.add(name, values, qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales, g_idx=packed.g_idx)
    checkpoint.save(data, "gptqmodel")


def quark_checkpoints(sources, data):
    pack, numerics = load_quark(sources)
    describe = lambda dtype: {"weight": {"dtype": dtype, "qscheme": "per_group", "group_size": 32, "ch_axis": -1,
                                         "scale_format": "e8m0", "symmetric": None, "is_dynamic": False}}
    methods = {"fp4": pack.Pack_fp4(None, "fp4"), "fp6_e2m3": pack.Pack_fp6(None, "fp6_e2m3", 2, 3),
               "fp6_e3m2": pack.Pack_fp6(None, "fp6_e3m2", 3, 2)}
    for folder, modules in (("quark", {"self_attn.q_proj": "fp4", "mlp.down_proj": "fp6_e2m3"}),
                            ("quark-e3m2", {"mlp.down_proj": "fp6_e3m2"})):
        layers = {f"model.layers.0.{module}": describe(dtype) for module, dtype in modules.items()}
        first = next(iter(modules.values()))
        checkpoint = Checkpoint({"quant_method": "quark", "global_quant_config": describe(first), "layer_quant_config": layers,
                                 "layer_type_quant_config": {}, "exclude": [],
                                 "export": {"pack_method": "reorder", "kv_cache_group": []}})
        for module, dtype in modules.items():
            rows, cols, bytes_of_four = 32, 64, 2 if dtype == "fp4" else 3
            packed = torch.randint(0, 256, (rows, cols // 4 * bytes_of_four), dtype=torch.uint8)
            scale = 2.0 ** torch.randint(-9, 4, (rows, cols // 32)).float()
            elements = methods[dtype].unpack(packed, False)
            assert torch.equal(methods[dtype].pack(elements, False), packed)
            values = elements * scale.repeat_interleave(32, 1)
            checkpoint.add(module, values, weight=packed, weight_scale=numerics.to_e8m0_uint8(scale))
        checkpoint.save(data, folder)


def main(sources, data):
    out = {}
    awq(sources, out)
    gptq_version_1(sources, out)
    gptq_version_2(sources, out)
    quark(sources, out)
    save_file(out, os.path.join(data, "conformance", "integers.safetensors"))
    awq_checkpoint(sources, data)
    gptq_checkpoints(sources, data)
    quark_checkpoints(sources, data)


main(sys.argv[1], sys.argv[2])
