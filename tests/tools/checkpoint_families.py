"""Checkpoints of families of models, each under the names and in the layouts of the systems that it is used in.

A checkpoint is {name: array of the numbers of its elements}, as in checkpoints.py: two layouts hold the same numbers.
"""
from __future__ import annotations

import numpy

from checkpoints import Tensors
from checkpoint_parts import (Family, HIDDEN, HEADS, GROUPS, HEAD, INNER, VOCABULARY, LAYERS, renamed, fused, grouped, stacked, transposed, shares,
                              attention, gated, QKV, GGUF, MEGATRON)


def llama() -> Family:
    family = Family("Llama", 11)
    family.add("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        attention(family, f"model.layers.{i}.self_attn")
        gated(family, f"model.layers.{i}.mlp")
        family.norm(f"model.layers.{i}.input_layernorm")
        family.norm(f"model.layers.{i}.post_attention_layernorm")
    family.norm("model.norm")
    family.add("lm_head.weight", VOCABULARY, HIDDEN)
    family.systems["GGUF's names"] = renamed(family.plain, {**GGUF, "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"})
    return family


def gemma() -> Family:
    """Norms before and behind each half of a layer; no head of its own."""
    family = Family("Gemma 2", 12)
    family.add("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        attention(family, f"{layer}.self_attn")
        gated(family, f"{layer}.mlp")
        for norm in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            family.norm(f"{layer}.{norm}_layernorm")
    family.norm("model.norm")
    vllm = fused(fused(family.plain, QKV, "qkv_proj"), ["gate_proj", "up_proj"], "gate_up_proj")
    family.systems["vLLM"] = vllm
    family.systems["Google's"] = renamed(fused(family.plain, QKV, "qkv_proj"), {r"^model\.embed_tokens": "embedder"})
    regrouped = fused(fused(family.plain, QKV, "qkv_proj", grouped(GROUPS)), ["gate_proj", "up_proj"], "gate_up_proj")
    family.systems["Megatron"] = renamed(regrouped, {
        **MEGATRON, r"input_layernorm\.": "self_attention.linear_qkv.layer_norm_", r"post_attention_layernorm": "self_attention.linear_proj.post_layernorm",
        r"pre_feedforward_layernorm\.": "mlp.linear_fc1.layer_norm_", r"post_feedforward_layernorm": "mlp.linear_fc2.post_layernorm"})
    family.systems["GGUF's names"] = renamed(family.plain, {
        **GGUF, "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm"})
    for ranks in (2, 4):
        family.systems[f"vLLM on {ranks}"] = shares(vllm, ranks, {"qkv": [64, 32, 32], "gate_up": [176, 176]})
        family.systems[f"Megatron on {ranks}"] = shares(family.systems["Megatron"], ranks, {"linear_fc1.weight": [176, 176]})
    return family


def phi2() -> Family:
    family = Family("Phi 2", 13)
    family.add("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        attention(family, f"{layer}.self_attn", bias=True, groups=HEADS, out="dense", out_bias=True)
        family.linear(f"{layer}.mlp.fc1", 4 * HIDDEN, HIDDEN, True)
        family.linear(f"{layer}.mlp.fc2", HIDDEN, 4 * HIDDEN, True)
        family.norm(f"{layer}.input_layernorm", True)
    family.norm("model.final_layernorm", True)
    family.linear("lm_head", VOCABULARY, HIDDEN, True)
    whole = fused(family.plain, QKV, "qkv_proj")
    family.systems["as first published"] = renamed(whole, {
        r"^model\.embed_tokens": "transformer.embd.wte", r"^model\.layers": "transformer.h", r"self_attn\.qkv_proj": "mixer.Wqkv",
        r"self_attn\.dense": "mixer.out_proj", "input_layernorm": "ln", r"^model\.final_layernorm": "lm_head.ln",
        r"^lm_head\.(weight|bias)": r"lm_head.linear.\1"})
    family.systems["vLLM"] = whole
    for ranks in (2, 4, 8):
        family.systems[f"vLLM on {ranks}"] = shares(whole, ranks, {"qkv_proj": [64, 64, 64]})
    return family


def phi3() -> Family:
    family = Family("Phi 3", 14)
    family.add("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        family.linear(f"{layer}.self_attn.qkv_proj", HIDDEN + 2 * GROUPS * HEAD, HIDDEN)
        family.linear(f"{layer}.self_attn.o_proj", HIDDEN, HIDDEN)
        family.linear(f"{layer}.mlp.gate_up_proj", 2 * INNER, HIDDEN)
        family.linear(f"{layer}.mlp.down_proj", HIDDEN, INNER)
        family.norm(f"{layer}.input_layernorm")
        family.norm(f"{layer}.post_attention_layernorm")
    family.norm("model.norm")
    family.add("lm_head.weight", VOCABULARY, HIDDEN)

    def split(name: str, each: numpy.ndarray) -> Tensors:
        if "qkv_proj" in name:
            return {name.replace("qkv_proj", part): rows for part, rows in zip(QKV, numpy.split(each, [64, 96]))}
        if "gate_up_proj" in name:
            return {name.replace("gate_up_proj", part): rows for part, rows in zip(("gate_proj", "up_proj"), numpy.split(each, 2))}
        return {name: each}

    family.systems["as Llama"] = {key: rows for name, each in family.plain.items() for key, rows in split(name, each).items()}
    family.systems["as Llama on 4"] = shares(family.systems["as Llama"], 4)
    return family


def mixtral() -> Family:
    family = Family("Mixtral", 15)
    family.add("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        attention(family, f"{layer}.self_attn")
        family.linear(f"{layer}.block_sparse_moe.gate", 4, HIDDEN)
        for e in range(4):
            gated(family, f"{layer}.block_sparse_moe.experts.{e}", names=("w1", "w3", "w2"))
        family.norm(f"{layer}.input_layernorm")
        family.norm(f"{layer}.post_attention_layernorm")
    family.norm("model.norm")
    family.add("lm_head.weight", VOCABULARY, HIDDEN)
    stack = stacked(family.plain)
    vllm = fused(fused(stack, [".w1.weight", ".w3.weight"], ".w13_weight", lambda parts: numpy.concatenate(parts, axis=1)), QKV, "qkv_proj")
    vllm = renamed(vllm, {r"\.w2\.weight": ".w2_weight"})
    family.systems["vLLM"] = vllm
    family.systems["Mistral's"] = renamed(family.plain, {
        r"^model\.": "", "self_attn": "attention", r"(q|k|v|o)_proj": r"w\1", "block_sparse_moe": "feed_forward", "input_layernorm": "attention_norm",
        "post_attention_layernorm": "ffn_norm", "embed_tokens": "tok_embeddings", "lm_head": "output"})
    regrouped = fused(fused(family.plain, QKV, "qkv_proj", grouped(GROUPS)), [".w1.", ".w3."], ".linear_fc1.")
    megatron = renamed(regrouped, {**MEGATRON, r"block_sparse_moe\.gate": "mlp.router", r"block_sparse_moe\.experts": "mlp.experts.local_experts",
                                   r"\.w2\.": ".linear_fc2.", r"input_layernorm\.": "self_attention.linear_qkv.layer_norm_",
                                   "post_attention_layernorm": "pre_mlp_layernorm"})
    family.systems["Megatron"] = megatron
    family.systems["Megatron, grouped experts"] = renamed(megatron, {r"local_experts\.(\d+)\.(linear_fc.)\.weight": r"\2.weight\1"})
    family.systems["as Mixtral in Transformers 5"] = renamed(
        fused(stack, [".w1.weight", ".w3.weight"], ".gate_up_proj", lambda parts: numpy.concatenate(parts, axis=1)),
        {"block_sparse_moe": "mlp", r"\.w2\.weight": ".down_proj"})
    for ranks in (2, 4):
        family.systems[f"Megatron on {ranks}"] = shares(megatron, ranks, {"linear_fc1.weight": [176, 176]})
        family.systems[f"HF on {ranks}"] = shares(family.plain, ranks)
    return family


def mamba() -> Family:
    family = Family("Mamba", 16)
    inner, rank, state = 2 * HIDDEN, 4, 16
    family.add("backbone.embeddings.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        mixer = f"backbone.layers.{i}.mixer"
        family.add(f"{mixer}.A_log", inner, state)
        family.add(f"{mixer}.D", inner)
        family.linear(f"{mixer}.in_proj", 2 * inner, HIDDEN)
        family.add(f"{mixer}.conv1d.weight", inner, 1, 4)
        family.add(f"{mixer}.conv1d.bias", inner)
        family.linear(f"{mixer}.x_proj", rank + 2 * state, inner)
        family.linear(f"{mixer}.dt_proj", inner, rank, True)
        family.linear(f"{mixer}.out_proj", HIDDEN, inner)
        family.norm(f"backbone.layers.{i}.norm")
    family.norm("backbone.norm_f")
    family.add("lm_head.weight", VOCABULARY, HIDDEN)
    family.systems["state-spaces'"] = renamed(family.plain, {r"backbone\.embeddings": "backbone.embedding"})
    family.systems["Megatron"] = renamed(family.plain, {r"^backbone\.embeddings": "embedding.word_embeddings", r"^backbone\.layers": "decoder.layers",
                                                        r"^backbone\.norm_f": "decoder.final_norm", r"^lm_head": "output_layer"})
    family.systems["GGUF's names"] = renamed(family.plain, {
        r"^backbone\.embeddings": "token_embd", r"^backbone\.layers": "blk", r"^backbone\.norm_f": "output_norm", r"^lm_head": "output",
        r"mixer\.A_log": "ssm_a", r"mixer\.D": "ssm_d", r"mixer\.in_proj": "ssm_in", r"mixer\.conv1d": "ssm_conv1d", r"mixer\.x_proj": "ssm_x",
        r"mixer\.dt_proj": "ssm_dt", r"mixer\.out_proj": "ssm_out", r"(\d)\.norm": r"\1.attn_norm"})
    return family


def t5() -> Family:
    family = Family("T5", 17)
    family.add("shared.weight", VOCABULARY, HIDDEN)
    for stack in ("encoder", "decoder"):
        for i in range(LAYERS):
            block = f"{stack}.block.{i}.layer"
            halves = ("SelfAttention", "EncDecAttention") if stack == "decoder" else ("SelfAttention",)
            for half, words in enumerate(halves):
                for part in "qkvo":
                    family.linear(f"{block}.{half}.{words}.{part}", HIDDEN, HIDDEN)
                if i == 0 and half == 0:
                    family.add(f"{block}.0.SelfAttention.relative_attention_bias.weight", 32, HEADS)
                family.norm(f"{block}.{half}.layer_norm")
            gated(family, f"{block}.{len(halves)}.DenseReluDense", names=("wi_0", "wi_1", "wo"))
            family.norm(f"{block}.{len(halves)}.layer_norm")
        family.norm(f"{stack}.final_layer_norm")
    family.add("lm_head.weight", VOCABULARY, HIDDEN)
    rules = {r"^shared": "token_embedder", r"^lm_head": "decoder.logits_dense", r"(encoder|decoder)\.final_layer_norm": r"\1.\1_norm",
             r"encoder\.block\.(\d+)\.layer\.0\.layer_norm": r"encoder.layers_\1.pre_attention_layer_norm",
             r"encoder\.block\.(\d+)\.layer\.1\.layer_norm": r"encoder.layers_\1.pre_mlp_layer_norm",
             r"decoder\.block\.(\d+)\.layer\.0\.layer_norm": r"decoder.layers_\1.pre_self_attention_layer_norm",
             r"decoder\.block\.(\d+)\.layer\.1\.layer_norm": r"decoder.layers_\1.pre_cross_attention_layer_norm",
             r"decoder\.block\.(\d+)\.layer\.2\.layer_norm": r"decoder.layers_\1.pre_mlp_layer_norm",
             r"(encoder|decoder)\.block\.0\.layer\.0\.SelfAttention\.relative_attention_bias": r"\1.relpos_bias.rel_embedding",
             r"encoder\.block\.(\d+)\.layer\.0\.SelfAttention": r"encoder.layers_\1.attention",
             r"decoder\.block\.(\d+)\.layer\.0\.SelfAttention": r"decoder.layers_\1.self_attention",
             r"decoder\.block\.(\d+)\.layer\.1\.EncDecAttention": r"decoder.layers_\1.encoder_decoder_attention",
             r"(encoder|decoder)\.block\.(\d+)\.layer\.\d\.DenseReluDense": r"\1.layers_\2.mlp",
             r"attention\.q\.": "attention.query.", r"attention\.k\.": "attention.key.", r"attention\.v\.": "attention.value.",
             r"attention\.o\.": "attention.out."}
    flax = renamed(family.plain, {**rules, r"token_embedder\.weight": "token_embedder.embedding", r"norm\.weight": "norm.scale",
                                  r"rel_embedding\.weight": "rel_embedding", r"\.weight$": ".kernel", r"\.": "/"})
    family.systems["t5x"] = transposed(flax, "kernel|rel_embedding")
    for ranks in (2, 4):
        family.systems[f"HF on {ranks}"] = shares(family.plain, ranks)
    return family


def vit() -> Family:
    family = Family("ViT", 18)
    family.add("vit.embeddings.cls_token", 1, 1, HIDDEN)
    family.add("vit.embeddings.position_embeddings", 1, 17, HIDDEN)
    family.add("vit.embeddings.patch_embeddings.projection.weight", HIDDEN, 3, 4, 4)
    family.add("vit.embeddings.patch_embeddings.projection.bias", HIDDEN)
    for i in range(LAYERS):
        layer = f"vit.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            family.linear(f"{layer}.attention.attention.{part}", HIDDEN, HIDDEN, True)
        family.linear(f"{layer}.attention.output.dense", HIDDEN, HIDDEN, True)
        family.linear(f"{layer}.intermediate.dense", 4 * HIDDEN, HIDDEN, True)
        family.linear(f"{layer}.output.dense", HIDDEN, 4 * HIDDEN, True)
        family.norm(f"{layer}.layernorm_before", True)
        family.norm(f"{layer}.layernorm_after", True)
    family.norm("vit.layernorm", True)
    family.linear("classifier", 100, HIDDEN, True)
    whole = fused(family.plain, [f"attention.attention.{part}" for part in ("query", "key", "value")], "attn.qkv")
    family.systems["timm"] = renamed(whole, {
        r"vit\.embeddings\.cls_token": "cls_token", r"vit\.embeddings\.position_embeddings": "pos_embed",
        r"vit\.embeddings\.patch_embeddings\.projection": "patch_embed.proj", r"vit\.encoder\.layer": "blocks",
        r"attention\.output\.dense": "attn.proj", r"intermediate\.dense": "mlp.fc1", r"output\.dense": "mlp.fc2", "layernorm_before": "norm1",
        "layernorm_after": "norm2", r"vit\.layernorm": "norm", "classifier": "head"})
    family.systems["torchvision"] = renamed(whole, {
        r"vit\.embeddings\.cls_token": "class_token", r"vit\.embeddings\.position_embeddings": "encoder.pos_embedding",
        r"vit\.embeddings\.patch_embeddings\.projection": "conv_proj", r"vit\.encoder\.layer\.(\d+)": r"encoder.layers.encoder_layer_\1",
        r"attn\.qkv\.": "self_attention.in_proj_", r"attention\.output\.dense": "self_attention.out_proj",
        r"intermediate\.dense": "mlp.0", r"output\.dense": "mlp.3", "layernorm_before": "ln_1", "layernorm_after": "ln_2", r"vit\.layernorm": "encoder.ln",
        "classifier": "heads.head"})
    return family


def clip() -> Family:
    family = Family("CLIP's text", 19)
    family.add("text_model.embeddings.token_embedding.weight", VOCABULARY, HIDDEN)
    family.add("text_model.embeddings.position_embedding.weight", 77, HIDDEN)
    for i in range(LAYERS):
        layer = f"text_model.encoder.layers.{i}"
        attention(family, f"{layer}.self_attn", True, HEADS, "out_proj", True)
        family.norm(f"{layer}.layer_norm1", True)
        family.linear(f"{layer}.mlp.fc1", 4 * HIDDEN, HIDDEN, True)
        family.linear(f"{layer}.mlp.fc2", HIDDEN, 4 * HIDDEN, True)
        family.norm(f"{layer}.layer_norm2", True)
    family.norm("text_model.final_layer_norm", True)
    family.systems["OpenAI's"] = renamed(fused(family.plain, QKV, "in_proj"), {
        r"text_model\.embeddings\.token_embedding": "token_embedding", r"text_model\.embeddings\.position_embedding\.weight": "positional_embedding",
        r"text_model\.encoder\.layers": "transformer.resblocks", r"self_attn\.in_proj\.": "attn.in_proj_", "self_attn": "attn",
        "layer_norm": "ln_", r"mlp\.fc1": "mlp.c_fc", r"mlp\.fc2": "mlp.c_proj", r"text_model\.final_ln_": "ln_final"})
    return family


def whisper() -> Family:
    family = Family("Whisper", 20)
    family.add("model.encoder.conv1.weight", HIDDEN, 80, 3)
    family.add("model.encoder.conv1.bias", HIDDEN)
    family.add("model.encoder.conv2.weight", HIDDEN, HIDDEN, 3)
    family.add("model.encoder.conv2.bias", HIDDEN)
    family.add("model.encoder.embed_positions.weight", 150, HIDDEN)
    family.add("model.decoder.embed_tokens.weight", VOCABULARY, HIDDEN)
    family.add("model.decoder.embed_positions.weight", 44, HIDDEN)
    for stack in ("encoder", "decoder"):
        for i in range(LAYERS):
            layer = f"model.{stack}.layers.{i}"
            for words in ("self_attn", "encoder_attn") if stack == "decoder" else ("self_attn",):
                family.linear(f"{layer}.{words}.k_proj", HIDDEN, HIDDEN)
                for part in ("v_proj", "q_proj", "out_proj"):
                    family.linear(f"{layer}.{words}.{part}", HIDDEN, HIDDEN, True)
                family.norm(f"{layer}.{words}_layer_norm", True)
            family.linear(f"{layer}.fc1", 4 * HIDDEN, HIDDEN, True)
            family.linear(f"{layer}.fc2", HIDDEN, 4 * HIDDEN, True)
            family.norm(f"{layer}.final_layer_norm", True)
        family.norm(f"model.{stack}.layer_norm", True)
    family.systems["OpenAI's"] = renamed(family.plain, {
        r"^model\.": "", r"(encoder|decoder)\.layers\.": r"\1.blocks.", r"self_attn_layer_norm": "attn_ln", r"encoder_attn_layer_norm": "cross_attn_ln",
        r"(\d)\.final_layer_norm": r"\1.mlp_ln", "self_attn": "attn", "encoder_attn": "cross_attn", "q_proj": "query", "k_proj": "key",
        "v_proj": "value", "out_proj": "out", r"(\d)\.fc1": r"\1.mlp.0", r"(\d)\.fc2": r"\1.mlp.2", r"encoder\.layer_norm": "encoder.ln_post",
        r"decoder\.layer_norm": "decoder.ln", r"embed_tokens": "token_embedding", r"embed_positions\.weight": "positional_embedding"})
    for ranks in (2, 4):
        family.systems[f"HF on {ranks}"] = shares(family.plain, ranks)
    return family


def llama4() -> Family:
    """Experts as [expert, in, out], gate and up in one; a shared expert beside them."""
    family = Family("Llama 4", 21)
    family.add("language_model.model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"language_model.model.layers.{i}"
        attention(family, f"{layer}.self_attn")
        if i % 2:
            gated(family, f"{layer}.feed_forward")
        else:
            family.linear(f"{layer}.feed_forward.router", 4, HIDDEN)
            family.add(f"{layer}.feed_forward.experts.gate_up_proj", 4, HIDDEN, 2 * 48)
            family.add(f"{layer}.feed_forward.experts.down_proj", 4, 48, HIDDEN)
            gated(family, f"{layer}.feed_forward.shared_expert", 48)
        family.norm(f"{layer}.input_layernorm")
        family.norm(f"{layer}.post_attention_layernorm")
    family.norm("language_model.model.norm")
    family.add("language_model.lm_head.weight", VOCABULARY, HIDDEN)

    def split(name: str, each: numpy.ndarray) -> Tensors:
        if "experts.gate_up_proj" in name:
            return {name.replace("gate_up_proj", f"{e}.{part}.weight"): numpy.ascontiguousarray(half.T)
                    for e in range(4) for part, half in zip(("gate_proj", "up_proj"), numpy.split(each[e], 2, axis=1))}
        if "experts.down_proj" in name:
            return {name.replace("down_proj", f"{e}.down_proj.weight"): numpy.ascontiguousarray(each[e].T) for e in range(4)}
        return {name: each}

    family.systems["experts one by one"] = {key: rows for name, each in family.plain.items() for key, rows in split(name, each).items()}
    vllm = fused(fused(family.plain, QKV, "qkv_proj"), [".gate_proj.", ".up_proj."], ".gate_up_proj.")
    vllm = {name.replace("experts.gate_up_proj", "experts.w13_weight").replace("experts.down_proj", "experts.w2_weight"):
            numpy.ascontiguousarray(each.swapaxes(1, 2)) if ".experts." in name else each for name, each in vllm.items()}
    family.systems["vLLM"] = vllm
    meta = renamed(family.plain, {
        r"^language_model\.(model\.)?": "", "self_attn": "attention", r"attention\.(q|k|v|o)_proj": r"attention.w\1", "input_layernorm": "attention_norm",
        "post_attention_layernorm": "ffn_norm", "embed_tokens": "tok_embeddings", "lm_head": "output", r"shared_expert\.gate_proj": "shared_expert.w1",
        r"shared_expert\.up_proj": "shared_expert.w3", r"shared_expert\.down_proj": "shared_expert.w2", r"feed_forward\.gate_proj": "feed_forward.w1",
        r"feed_forward\.up_proj": "feed_forward.w3", r"feed_forward\.down_proj": "feed_forward.w2"})
    family.systems["Meta-like"] = meta
    return family


def deepseek() -> Family:
    """Latent attention; the first layer is dense, the others have experts and a shared one."""
    family = Family("DeepSeek V3", 22)
    q_rank, kv_rank, nope, rope = 32, 24, 8, 4
    family.add("model.embed_tokens.weight", VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        family.linear(f"{layer}.self_attn.q_a_proj", q_rank, HIDDEN)
        family.norm(f"{layer}.self_attn.q_a_layernorm", size=q_rank)
        family.linear(f"{layer}.self_attn.q_b_proj", HEADS * (nope + rope), q_rank)
        family.linear(f"{layer}.self_attn.kv_a_proj_with_mqa", kv_rank + rope, HIDDEN)
        family.norm(f"{layer}.self_attn.kv_a_layernorm", size=kv_rank)
        family.linear(f"{layer}.self_attn.kv_b_proj", HEADS * 2 * nope, kv_rank)
        family.linear(f"{layer}.self_attn.o_proj", HIDDEN, HEADS * nope)
        if i == 0:
            gated(family, f"{layer}.mlp")
        else:
            family.linear(f"{layer}.mlp.gate", 4, HIDDEN)
            family.add(f"{layer}.mlp.gate.e_score_correction_bias", 4)
            for e in range(4):
                gated(family, f"{layer}.mlp.experts.{e}", 48)
            gated(family, f"{layer}.mlp.shared_experts", 48)
        family.norm(f"{layer}.input_layernorm")
        family.norm(f"{layer}.post_attention_layernorm")
    family.norm("model.norm")
    family.add("lm_head.weight", VOCABULARY, HIDDEN)
    family.systems["DeepSeek's"] = renamed(family.plain, {
        r"^model\.": "", "embed_tokens": "embed", "lm_head": "head", "self_attn": "attn", "q_a_proj": "wq_a", "q_a_layernorm": "q_norm",
        "q_b_proj": "wq_b", "kv_a_proj_with_mqa": "wkv_a", "kv_a_layernorm": "kv_norm", "kv_b_proj": "wkv_b", "o_proj": "wo", "mlp": "ffn",
        "gate_proj": "w1", "up_proj": "w3", "down_proj": "w2", r"gate\.e_score_correction_bias": "gate.bias", "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm"})
    halves = [".gate_proj.", ".up_proj."]
    megatron = renamed(fused(family.plain, halves, ".gate_up_proj."), {
        **MEGATRON, r"self_attn\.q_a_proj": "self_attention.linear_q_down_proj", r"self_attn\.q_b_proj": "self_attention.linear_q_up_proj",
        r"self_attn\.kv_a_proj_with_mqa": "self_attention.linear_kv_down_proj", r"self_attn\.kv_b_proj": "self_attention.linear_kv_up_proj",
        r"self_attn\.q_a_layernorm\.": "self_attention.linear_q_up_proj.layer_norm_", r"self_attn\.kv_a_layernorm\.": "self_attention.linear_kv_up_proj.layer_norm_",
        r"mlp\.gate\.weight": "mlp.router.weight", r"mlp\.gate\.e_score_correction_bias": "mlp.router.expert_bias",
        r"mlp\.experts\.(\d)\.gate_up_proj": r"mlp.experts.local_experts.\1.linear_fc1", r"mlp\.experts\.(\d)\.down_proj": r"mlp.experts.local_experts.\1.linear_fc2",
        r"shared_experts\.gate_up_proj": "shared_experts.linear_fc1", r"shared_experts\.down_proj": "shared_experts.linear_fc2",
        "0.post_attention_layernorm.": "0.mlp.linear_fc1.layer_norm_", "post_attention_layernorm": "pre_mlp_layernorm"})
    family.systems["Megatron"] = megatron
    family.systems["Megatron, grouped experts"] = renamed(megatron, {r"local_experts\.(\d+)\.(linear_fc.)\.weight": r"\2.weight\1"})
    vllm = stacked(family.plain)
    vllm = fused(vllm, ["q_a_proj", "kv_a_proj_with_mqa"], "fused_qkv_a_proj")
    vllm = {name: each for name, each in fused(vllm, [".experts.gate_proj.weight", ".experts.up_proj.weight"], ".experts.w13_weight",
                                               lambda parts: numpy.concatenate(parts, axis=1)).items()}
    family.systems["vLLM"] = renamed(fused(vllm, halves, ".gate_up_proj."), {r"\.experts\.down_proj\.weight": ".experts.w2_weight"})
    for ranks in (2, 4, 8):
        family.systems[f"DeepSeek's on {ranks}"] = shares(family.systems["DeepSeek's"], ranks)
    return family


def gpt2() -> Family:
    """Weights as [in, out], query, key and value in one."""
    family = Family("GPT-2", 23)
    family.add("transformer.wte.weight", VOCABULARY, HIDDEN)
    family.add("transformer.wpe.weight", 96, HIDDEN)
    for i in range(LAYERS):
        layer = f"transformer.h.{i}"
        family.norm(f"{layer}.ln_1", True)
        for name, into, out in (("attn.c_attn", HIDDEN, 3 * HIDDEN), ("attn.c_proj", HIDDEN, HIDDEN), ("mlp.c_fc", HIDDEN, 4 * HIDDEN),
                                ("mlp.c_proj", 4 * HIDDEN, HIDDEN)):
            family.add(f"{layer}.{name}.weight", into, out)
            family.add(f"{layer}.{name}.bias", out)
        family.norm(f"{layer}.ln_2", True)
    family.norm("transformer.ln_f", True)

    def regrouped(name: str, each: numpy.ndarray) -> numpy.ndarray:
        if "query_key_value" not in name:
            return each
        return each.reshape(3, HEADS, HEAD, *each.shape[1:]).swapaxes(0, 1).reshape(each.shape)

    linear = transposed(family.plain, "c_attn|c_proj|c_fc")
    megatron = renamed(linear, {
        r"transformer\.wte": "embedding.word_embeddings", r"transformer\.wpe": "embedding.position_embeddings", r"transformer\.h": "encoder.layers",
        "ln_1": "input_layernorm", "ln_2": "post_attention_layernorm", r"attn\.c_attn": "self_attention.query_key_value",
        r"attn\.c_proj": "self_attention.dense", r"mlp\.c_fc": "mlp.dense_h_to_4h", r"mlp\.c_proj": "mlp.dense_4h_to_h", r"transformer\.ln_f": "encoder.final_layernorm"})
    family.systems["as linear layers"] = linear
    family.systems["Megatron"] = {name: regrouped(name, each) for name, each in megatron.items()}
    for ranks in (2, 4):
        family.systems[f"Megatron on {ranks}"] = [
            {name: each for name, each in part.items()} for part in shares(renamed(family.systems["Megatron"], {}), ranks, {})]
    return family


def all_families() -> list[Family]:
    return [make().done() for make in (llama, gemma, phi2, phi3, mixtral, mamba, t5, vit, clip, whisper, llama4, deepseek, gpt2)]
