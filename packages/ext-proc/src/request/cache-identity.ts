/**
 * What a request's body says that engines fold into the first cache block of its prompt besides the
 * text: the model or adapter, and salts by which tenants or sessions keep their caches apart.
 *
 * | field             | of                                                              |
 * |-------------------|-----------------------------------------------------------------|
 * | `cache_salt`      | vLLM, SGLang                                                    |
 * | `cache_salt_id`   | TensorRT-LLM                                                    |
 * | `extra_key`       | SGLang; a list where there is a list of prompts                 |
 * | `lora_path`       | SGLang's adapter beside the model                               |
 * | `session_params`  | SGLang: `id` of a session whose cache is its own                |
 *
 * Media are part of the prompt's text, as digests; see `request-fields.ts`.
 *
 * Cost: nothing for bodies without such fields, a string for each field otherwise.
 */
import { ByteSink } from './byte-sink.ts';

const fields = ['cache_salt', 'cache_salt_id', 'extra_key', 'lora_path', 'session_params'];
const positionOf = new Map(fields.map((name, position) => [name, position]));
/** Of a longer value the start and the length are taken. */
const valueBytesMax = 4_096;

export class CacheIdentity {
  readonly #value = new ByteSink(valueBytesMax);
  #valueBytes = 0;
  #field = -1;
  readonly #values: string[] = fields.map(() => '');
  #any = false;

  reset(): void {
    this.#field = -1;
    if (!this.#any) return;
    this.#values.fill('');
    this.#any = false;
  }

  /** A key of the body. True when its value belongs to the identity: feed it and call `end`. */
  begin(key: string): boolean {
    this.#field = positionOf.get(key) ?? -1;
    this.#value.reset();
    this.#valueBytes = 0;
    return this.#field >= 0;
  }

  /** Whether a value under this nested key counts: of a session its `id` alone. */
  takes(nestedKey: string): boolean {
    return nestedKey === '' || nestedKey === 'id';
  }

  append(bytes: Uint8Array, from: number, to: number): void {
    this.#value.append(bytes, from, to);
    this.#valueBytes += to - from;
  }

  codePoint(code: number): void {
    this.#value.codePoint(code);
    this.#valueBytes++;
  }

  /** Between two members of a list. */
  separate(): void {
    this.#value.push(0);
    this.#valueBytes++;
  }

  /** The value has ended. Where a key comes twice the last one counts. */
  end(): void {
    if (this.#field < 0) return;
    const text = Buffer.from(this.#value.bytes).toString('utf8').replace(/\0+$/, '');
    const isCut = this.#valueBytes > valueBytesMax;
    this.#values[this.#field] = isCut ? `${text}…${this.#valueBytes}` : text;
    this.#any = true;
    this.#field = -1;
  }

  /** The identity of a request for `model`; '' where nothing is known. */
  text(model: string): string {
    if (!this.#any) return model;
    let text = model;
    for (const [position, value] of this.#values.entries()) {
      if (value !== '') text += `\n${fields[position]}=${value}`;
    }
    return text;
  }
}
