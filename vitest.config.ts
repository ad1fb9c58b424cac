import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/**/*.test.ts',
      'e2e/**/*.test.ts',
      'bench/**/*.test.ts',
      'demo/**/*.test.ts',
      'scripts/**/*.test.ts',
    ],
    // Tests that need an API server run by `npm run test:k8s`.
    exclude: ['**/node_modules/**', '**/dist/**', 'e2e/src/kubernetes/**'],
    pool: 'forks',
    // Real processes start in many tests; two cores that others share are slow now and then.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
