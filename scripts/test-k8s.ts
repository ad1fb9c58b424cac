/**
 * `npm run test:k8s`: the chart, the rights it gives, membership and injection against a real
 * kube-apiserver, and alert rules and dashboards by promtool. Arguments go on to vitest.
 *
 * Without the tools it says which one is missing and why, and ends with 1 where CI=true: a skipped
 * test of this kind would look like a passed one. The faults of an API server (410, silence, 403)
 * are tested against the fake by `npm test` in any case.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureKubernetesTools, kubernetesVersion } from './k8s/tools.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const tools = ensureKubernetesTools((line) => process.stderr.write(`test:k8s: ${line}\n`));

if (tools.problems.length > 0) {
  for (const problem of tools.problems) process.stderr.write(`test:k8s: ${problem}\n`);
  process.stderr.write('test:k8s: SKIPPED: the tests that need a real API server did not run\n');
  process.exit(process.env.CI === 'true' ? 1 : 0);
}

const vitest = fileURLToPath(new URL('../node_modules/.bin/vitest', import.meta.url));
const config = ['--config', 'scripts/k8s/vitest.config.ts'];
const result = spawnSync(vitest, ['run', ...config, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    LEADSMAN_TEST_API_SERVER: tools.apiServer,
    LEADSMAN_TEST_ETCD: tools.etcd,
    LEADSMAN_TEST_HELM: tools.helm,
    LEADSMAN_TEST_KUBERNETES_VERSION: kubernetesVersion,
    LEADSMAN_TEST_PROMTOOL: tools.promtool,
  },
});
process.exit(result.status ?? 1);
