/** Prints a scenario's result for people. */
import type { ScenarioResult } from './measure.ts';
import { policyNames } from './policies.ts';

const columns = [
  'TTFT p50',
  'TTFT p99',
  'short p99',
  'e2e p50',
  'e2e p99',
  'e2e mean',
  'busiest',
  'hits',
];

export function tableOf(result: ScenarioResult): string {
  const { scenario, pods, replicas, figures } = result;
  const lines = [
    '',
    `${scenario}: ${pods} pods, ${replicas} picker replica${replicas > 1 ? 's' : ''}, ` +
      `${figures['expected-work'].requests} requests (times in ms)`,
    `  ${''.padEnd(18)}${columns.map((column) => column.padStart(10)).join('')}`,
  ];
  for (const name of policyNames) {
    const f = figures[name];
    const cells = [
      f.ttftP50Ms.toFixed(0),
      f.ttftP99Ms.toFixed(0),
      f.shortTtftP99Ms.toFixed(0),
      f.endToEndP50Ms.toFixed(0),
      f.endToEndP99Ms.toFixed(0),
      f.endToEndMeanMs.toFixed(0),
      `${f.busiestShare.toFixed(2)}×`,
      `${(100 * f.prefixHitRatio).toFixed(0)} %`,
    ];
    lines.push(`  ${name.padEnd(18)}${cells.map((cell) => cell.padStart(10)).join('')}`);
  }
  for (const [peer, ratio] of Object.entries(result.ratios)) {
    lines.push(
      `  expected-work / ${peer}: p99 TTFT ${ratio.ttftP99.toFixed(2)}` +
        `, short ones ${ratio.shortTtftP99.toFixed(2)}` +
        `, mean end-to-end ${ratio.endToEndMean.toFixed(2)}`,
    );
  }
  return lines.join('\n');
}
