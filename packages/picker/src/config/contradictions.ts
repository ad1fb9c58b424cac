/** Settings of a picker that contradict each other, or that ask for what would not be safe. */
import type { PickerConfig } from './picker-config.ts';

/** One line for each that is certain; none: the picker may start. */
export function contradictions(config: PickerConfig): string[] {
  const problems: string[] = [];
  if (config.poolSource === 'file' && config.poolFile === '') {
    problems.push('--pool-source file needs --pool-file');
  }
  if (config.poolSource === 'view' && config.poolNetworks.length === 0) {
    problems.push(
      '--pool-source view makes a destination of whoever reports: it needs --pool-networks, the ' +
        'networks in which they may be (10.0.0.0/8,fd00::/8)',
    );
  }
  if (config.expireAfterMs < config.staleAfterMs) {
    problems.push(
      `--expire-after-ms ${config.expireAfterMs} is below --stale-after-ms ${config.staleAfterMs}: ` +
        'endpoints would leave before their numbers are stale',
    );
  }
  return problems;
}
