/** A sidecar template from parsed YAML, with every fault of it in one error. */
import { ConfigError } from '@leadsman/service';
import { type SidecarTemplate, sidecarTemplateShape } from './sidecar-template.ts';

/** Throws {@link ConfigError} that names `source`. */
export function readSidecarTemplate(value: unknown, source: string): SidecarTemplate {
  const result = sidecarTemplateShape.safeParse(value ?? {});
  if (result.success) return result.data;
  throw new ConfigError(
    result.error.issues.map((issue) => `${source}: ${issue.path.join('.')}: ${issue.message}`),
  );
}
