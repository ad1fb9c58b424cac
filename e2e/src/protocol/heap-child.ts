/** A picker in a process of its own, started with --expose-gc, that tells its heap when asked. */
import { startPickerUnderTest } from './picker-under-test.ts';

const picker = await startPickerUnderTest();
const send = (message: object): void => {
  process.send?.(message);
};

process.on('message', () => {
  // Finalizers of native handles free more at the second run.
  for (let i = 0; i < 4; i++) globalThis.gc?.();
  send({
    heapBytes: process.memoryUsage().heapUsed,
    openCalls: picker.server.openCalls,
    inFlight: picker.server.requestsInFlight,
  });
});
process.on('disconnect', () => process.exit(0));
send({ port: picker.port });
