/** Prints cells for people. */
import type { Cell, CellShape } from './cell.ts';

const columns = [
  'TTFT p50',
  'p90',
  'p99',
  'TPOT p99',
  'e2e mean',
  'e2e p99',
  'hits',
  'goodput',
  'busiest',
];

export function cellName(shape: CellShape): string {
  const { trace, pods, replicas, utilisation, kv, cold, closed } = shape;
  return (
    `${trace}, ${pods} pods, ${replicas} replica${replicas > 1 ? 's' : ''}, ` +
    `${Math.round(100 * utilisation)} %, KV ${kv / 1000}k, ${cold ? 'cold' : 'warm'}` +
    (closed ? ', closed' : '')
  );
}

export function cellsText(cells: readonly Cell[]): string {
  const first = cells[0]!;
  const lines = [
    '',
    `${cellName(first)}: ${first.requests} requests (times in ms)`,
    `  ${''.padEnd(20)}${columns.map((column) => column.padStart(10)).join('')}`,
  ];
  for (const cell of cells) {
    const values = [
      cell.ttft_ms.p50.toFixed(0),
      cell.ttft_ms.p90.toFixed(0),
      cell.ttft_ms.p99.toFixed(0),
      cell.tpot_ms.p99.toFixed(1),
      cell.e2e_ms.mean.toFixed(0),
      cell.e2e_ms.p99.toFixed(0),
      cell.hit_ratio.toFixed(3),
      cell.goodput.toFixed(3),
      `${cell.busiest_share.toFixed(2)}×`,
    ];
    lines.push(
      `  ${cell.policy.padEnd(20)}${values.map((value) => value.padStart(10)).join('')}` +
        (cell.collapsed ? '  collapsed' : ''),
    );
  }
  return lines.join('\n');
}
