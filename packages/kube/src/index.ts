export * from './access.ts';
export * from './backoff.ts';
export * from './client.ts';
export * from './error.ts';
export * from './list.ts';
export * from './object.ts';
export * from './reflector.ts';
export * from './store.ts';
