/** Where this picker's view is filled from, by its flags. Any mix is allowed: newest wins. */
import type { FeedConfig } from '@leadsman/collector';
import { natsOptionsFrom } from '@leadsman/link/nats/options';
import type { PickerConfig } from './config/picker-config.ts';

/** The feed of the embedded collector. */
export function feedOf(config: PickerConfig, replicaName: string): FeedConfig {
  const name = `leadsman-picker-${replicaName}`;
  const feed: FeedConfig = { name };
  if (config.natsUrl.length > 0) {
    feed.nats = {
      options: natsOptionsFrom(config, `${name}-view`),
      subjectPrefix: config.subjectPrefix,
    };
  }
  if (config.directPort >= 0) feed.direct = { host: config.directHost, port: config.directPort };
  if (config.collector.length > 0) feed.remote = { targets: config.collector, intervalMs: 0 };
  return feed;
}
