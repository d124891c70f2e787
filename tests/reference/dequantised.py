"""Write the weights of a quantised GGUF file as float32, so that other engines can hold the same ones.

    python tests/reference/dequantised.py MODEL.gguf --gguf MODEL-f32.gguf --folder MODEL-hf

The GGUF keeps every other field; the folder is what transformers and vLLM read. Needs
`pip install 'resit[hf]'`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np


def write_gguf(source: Path, target: Path) -> None:
    """The same GGUF with every tensor as float32."""
    reader = gguf.GGUFReader(source)
    architecture = reader.get_field("general.architecture")
    assert architecture is not None
    writer = gguf.GGUFWriter(target, architecture.contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value, kind = field.contents(), field.types[0]
        if name == "general.file_type":
            value = int(gguf.LlamaFileType.ALL_F32)
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, kind, sub_type=inner)
    for tensor in reader.tensors:
        weights = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, weights, raw_dtype=gguf.GGMLQuantizationType.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_folder(source: Path, target: Path) -> None:
    """The same model as a checkpoint of transformers'."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, file = str(source.parent), source.name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    plain = type(model)(model.config).to(torch.float32)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)


def main() -> None:
    """Write what was asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("source", type=Path)
    options.add_argument("--gguf", type=Path)
    options.add_argument("--folder", type=Path)
    asked = options.parse_args()
    if asked.gguf:
        write_gguf(asked.source, asked.gguf)
    if asked.folder:
        write_folder(asked.source, asked.folder)


if __name__ == "__main__":
    main()
