import { describe, expect, it } from 'vitest';
import { declaredPodKey, PoolFileError, parsePoolFile } from './pool-file.ts';

function problemsOf(text: string): readonly string[] {
  try {
    parsePoolFile(text);
  } catch (error) {
    if (error instanceof PoolFileError) return error.problems;
    throw error;
  }
  return [];
}

describe('parsePoolFile', () => {
  it('reads pools and fills in what is optional', () => {
    const { pools } = parsePoolFile(`
pools:
  - name: chat
    endpoints:
      - { address: 10.0.0.7, port: 8000 }
      - { address: "fd00::1", port: 8000, podUid: uid-1, labels: { tier: gold } }
`);
    expect(pools[0]?.endpoints).toHaveLength(2);
    expect(pools[0]?.endpoints[1]?.labels).toEqual({ tier: 'gold' });
    expect(pools[0]?.authorities).toEqual([]);
    const keys = pools[0]?.endpoints.map(declaredPodKey);
    expect(new Set(keys).size).toBe(2);
  });

  it('tells every problem with its line', () => {
    const problems = problemsOf(`pools:
  - name: chat
    endpoints:
      - { address: example, port: 8000 }
      - { address: 10.0.0.7, port: 99999 }
  - name: ""
    surprise: 1
`);
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'line 4',
      'line 5',
      'line 6',
      'line 6',
    ]);
    expect(problems.join('\n')).toMatch(/not an IP address/);
    expect(problems.join('\n')).toMatch(/surprise/);
  });

  it('refuses a name and an endpoint that occur twice', () => {
    const problems = problemsOf(`pools:
  - name: chat
    endpoints: [{ address: 10.0.0.7, port: 1 }, { address: 10.0.0.7, port: 1 }]
  - name: chat
`);
    expect(problems).toEqual(['line 3: 10.0.0.7 1 occurs twice', 'line 4: pool chat occurs twice']);
  });

  it('refuses what is no YAML, and an empty file', () => {
    expect(problemsOf('pools: [')[0]).toMatch(/^line 1: /);
    expect(problemsOf('')).toHaveLength(1);
  });
});
