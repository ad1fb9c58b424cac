/**
 * Simulated engines in a process of their own, so that what is measured elsewhere does not pay for
 * them. The one argument is a JSON list of options; the owner is told the addresses over IPC, or,
 * without IPC, by a line on stdout.
 */
import type { EngineCommand, EngineNotice } from './messages.ts';
import { type EngineSimulatorOptions, startEngineSimulator } from './simulator.ts';

const options = JSON.parse(process.argv[2] ?? '[{}]') as EngineSimulatorOptions[];
const engines = await Promise.all(options.map((each) => startEngineSimulator(each)));

process.on('message', (command: EngineCommand) => {
  if (command.kind === 'state') return notify(stateNotice(command.id));
  const engine = engines[command.engine];
  if (engine === undefined) throw new RangeError(`there is no engine ${command.engine}`);
  if (command.kind === 'speed') engine.setSpeed(command.speed);
  else Object.assign(engine.faults, command.faults);
});
// The owner is gone: so are we, whatever else happens to it.
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

notify({ kind: 'ready', engines: engines.map(({ host, port, url }) => ({ host, port, url })) });

function stateNotice(id: number): EngineNotice {
  const { user, system } = process.cpuUsage();
  return {
    kind: 'state',
    id,
    cpuMs: (user + system) / 1000,
    engines: engines.map(({ served, scrapes, ranks }) => {
      const gauges = ranks.map((rank) => rank.model.gauges);
      return {
        served,
        ownScrapes: scrapes.own,
        foreignScrapes: scrapes.foreign,
        byNameScrapes: scrapes.byName,
        running: gauges.reduce((sum, each) => sum + each.running, 0),
        waiting: gauges.reduce((sum, each) => sum + each.waiting, 0),
        kvUsageRatio: gauges.reduce((sum, each) => sum + each.kvUsageRatio, 0) / gauges.length,
      };
    }),
  };
}

function notify(notice: EngineNotice): void {
  if (process.send === undefined) process.stdout.write(`${JSON.stringify(notice)}\n`);
  else process.send(notice);
}
