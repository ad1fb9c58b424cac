/** One API server for all test files: its start costs more than all tests together. */
import { launchRealApiServer } from '@leadsman/testing';
import type { TestProject } from 'vitest/node';
import { Cluster, type Manifest, statusOf, until } from './cluster.ts';
import { crdFixtures } from './crd-fixtures.ts';

declare module 'vitest' {
  interface ProvidedContext {
    kubeconfig: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { LEADSMAN_TEST_API_SERVER: apiServer, LEADSMAN_TEST_ETCD: etcd } = process.env;
  if (apiServer === undefined || etcd === undefined) {
    throw new Error('run these tests by npm run test:k8s');
  }
  const server = await launchRealApiServer({ apiServer, etcd });
  const kubeconfig = server.kubeconfig();
  const cluster = await Cluster.open(kubeconfig);
  try {
    for (const crd of crdFixtures) await cluster.apply(crd as Manifest);
    for (const { spec } of crdFixtures) {
      const path = `/apis/${spec.group}/${spec.versions[0]?.name}/${spec.names.plural}`;
      await until(async () => (await statusOf(cluster.client.json('GET', path))) === 0);
    }
  } catch (error) {
    await server.stop();
    throw error;
  } finally {
    cluster.close();
  }
  project.provide('kubeconfig', kubeconfig);
  return () => server.stop();
}
