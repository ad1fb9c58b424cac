/** Entry of the process whose clients keep every engine busy, so that each page is a new one. */
import { ChatClient, startSteadyLoad } from '@leadsman/testing';

export interface LoadTask {
  engineUrls: readonly string[];
}

const task = JSON.parse(process.argv[2] ?? '{}') as LoadTask;
for (const url of task.engineUrls) {
  startSteadyLoad(new ChatClient(url), 2, (number) => ({
    prompt: `Sounding ${number}`,
    outputTokens: 200,
  }));
}
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
