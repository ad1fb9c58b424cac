/**
 * Alert rules and dashboards as Prometheus reads them: every rule fires in one unit test at least
 * and keeps quiet in another, every panel's expression is valid and finds the labels of its legend.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

const run = promisify(execFile);
const chart = new URL('../../../deploy/helm/leadsman/', import.meta.url);
const pathOf = (name: string) => fileURLToPath(new URL(name, chart));

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}
interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly { alertname: string; exp_alerts: readonly unknown[] }[];
    readonly promql_expr_test?: readonly {
      expr: string;
      exp_samples: readonly { labels: string }[];
    }[];
  }[];
}
interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { refId: string; expr: string; legendFormat: string }[];
  }[];
}

const yamlOf = async <T>(name: string) => parse(await readFile(pathOf(name), 'utf8')) as T;

/** Rejects with what promtool said. */
async function promtool(...args: string[]): Promise<void> {
  const path = process.env.LEADSMAN_TEST_PROMTOOL;
  if (path === undefined) throw new Error('run these tests by npm run test:k8s');
  await run(path, args).catch((error: Error & { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}${error.stderr}` || error.message);
  });
}

describe('the alert rules', () => {
  it('are valid, and fire when they should and not when they should not', async () => {
    await promtool('check', 'rules', pathOf('alerts/leadsman.yaml'));
    await promtool('test', 'rules', pathOf('alerts/leadsman.test.yaml'));
  });

  it('are each tested both ways, and each has its line in the operations page', async () => {
    const { groups } = await yamlOf<Rules>('alerts/leadsman.yaml');
    const { tests } = await yamlOf<RuleTests>('alerts/leadsman.test.yaml');
    const asked = tests.flatMap((test) => test.alert_rule_test ?? []);
    const page = await readFile(pathOf('../../../docs/operations.md'), 'utf8');
    for (const { alert } of groups.flatMap((group) => group.rules)) {
      const own = asked.filter((test) => test.alertname === alert);
      expect(
        own.some((test) => test.exp_alerts.length > 0),
        `${alert} fires`,
      ).toBe(true);
      expect(
        own.some((test) => test.exp_alerts.length === 0),
        `${alert} is quiet`,
      ).toBe(true);
      expect(page.includes(`\`${alert}\``), `${alert} in docs/operations.md`).toBe(true);
    }
  });
});

describe('the dashboard', () => {
  it('has valid expressions', async () => {
    const { panels } = await yamlOf<Dashboard>('dashboards/leadsman.json');
    const rules = panels.flatMap(({ targets }, i) =>
      targets.map(({ refId, expr }) => ({ record: `panel:${i}:${refId}`, expr })),
    );
    expect(rules.length).toBeGreaterThan(5);
    const folder = await mkdtemp(join(tmpdir(), 'leadsman-panels-'));
    try {
      const file = join(folder, 'panels.yaml');
      await writeFile(file, stringify({ groups: [{ name: 'panels', rules }] }));
      await promtool('check', 'rules', file);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('shows what is there, under the labels of its legends', async () => {
    await promtool('test', 'rules', pathOf('dashboards/leadsman.test.yaml'));
    const { panels } = await yamlOf<Dashboard>('dashboards/leadsman.json');
    const { tests } = await yamlOf<RuleTests>('dashboards/leadsman.test.yaml');
    const asked = tests.flatMap((test) => test.promql_expr_test ?? []);
    for (const { title, targets } of panels) {
      for (const { expr, legendFormat } of targets) {
        const samples = asked
          .filter((test) => test.expr === expr)
          .flatMap((test) => test.exp_samples);
        expect(samples.length, `${title} is not tested: ${expr}`).toBeGreaterThan(0);
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          expect(
            samples.some(({ labels }) => labels.includes(`${label}="`)),
            title,
          ).toBe(true);
        }
      }
    }
  });
});
