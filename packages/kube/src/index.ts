export * from './access.ts';
export * from './client.ts';
export * from './error.ts';
export * from './list.ts';
export * from './object.ts';
export * from './pod-target.ts';
export * from './reflector.ts';
export * from './store.ts';
