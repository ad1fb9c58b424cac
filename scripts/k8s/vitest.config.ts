/** The tests that need a real API server; started by test-k8s.ts only. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['e2e/src/kubernetes/**/*.test.ts'],
    globalSetup: ['e2e/src/kubernetes/global-setup.ts'],
    pool: 'forks',
    // They share one API server, and the webhooks of one are seen by the pods of another.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 240_000,
  },
});
