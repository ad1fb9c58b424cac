/** All engines known by name. A new one is a file beside this one and a line here. */
import { llamacpp } from './llamacpp.ts';
import { lmdeploy } from './lmdeploy.ts';
import type { EngineProfile } from './profile.ts';
import { sglang } from './sglang.ts';
import { tgi } from './tgi.ts';
import { tritonTrtllm } from './triton-trtllm.ts';
import { trtllmServe } from './trtllm-serve.ts';
import { vllm } from './vllm.ts';

export const engineProfiles: readonly EngineProfile[] = [
  vllm,
  sglang,
  trtllmServe,
  tritonTrtllm,
  tgi,
  llamacpp,
  lmdeploy,
];
