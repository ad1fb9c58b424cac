"""Makes a tiny Llama with a tokenizer of one token per byte, in the folder given: configuration
and vocabulary only. The engine fills in random weights (--load-format dummy)."""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)

alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {"<s>": 0, "</s>": 1, "<unk>": 2}
for symbol in alphabet:
    vocabulary[symbol] = len(vocabulary)

tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    bos_token="<s>",
    eos_token="</s>",
    unk_token="<unk>",
).save_pretrained(folder)

config = LlamaConfig(
    vocab_size=len(vocabulary),
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    max_position_embeddings=2048,
    bos_token_id=0,
    eos_token_id=1,
    torch_dtype="float32",
)
config.architectures = ["LlamaForCausalLM"]
config.save_pretrained(folder)
print(json.dumps({"vocabulary": len(vocabulary)}))
