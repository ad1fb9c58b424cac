import { beforeEach, describe, expect, it } from 'vitest';
import { PoolDirectory } from './pool-directory.ts';

describe('PoolDirectory', () => {
  let directory: PoolDirectory;
  beforeEach(() => {
    directory = new PoolDirectory(new Map([[9012, 'two/chat']]));
    directory.setPool({ pool: 'one/chat', authorities: ['chat-epp.one'] });
  });
  const addTwo = () => {
    directory.setPool({ pool: 'two/chat', authorities: ['chat-epp.two'] });
  };

  it('takes the only pool when nothing names another', () => {
    expect(directory.resolve(undefined, 'whatever:9002', 9002)).toBe('one/chat');
    addTwo();
    expect(directory.resolve(undefined, 'whatever:9002', 9002)).toBeUndefined();
  });

  it('obeys metadata first, and takes no other pool when it names an unknown one', () => {
    addTwo();
    expect(directory.resolve('two/chat', 'chat-epp.one.svc', 9002)).toBe('two/chat');
    expect(directory.resolve('three/chat', 'chat-epp.one.svc', 9002)).toBeUndefined();
  });

  it.each([
    'chat-epp.two',
    'chat-epp.two.svc:9002',
    'Chat-EPP.two.svc.cluster.local',
    'chat-epp.two.svc.cluster.local:9002',
  ])('knows the Service in %s', (authority) => {
    addTwo();
    expect(directory.resolve(undefined, authority, 9002)).toBe('two/chat');
  });

  it('takes a bare Service name only while one pool has it', () => {
    directory.setPool({ pool: 'two/code', authorities: ['code-epp.two'] });
    expect(directory.resolve(undefined, 'chat-epp', 9002)).toBe('one/chat');
    addTwo();
    expect(directory.resolve(undefined, 'chat-epp', 9002)).toBeUndefined();
  });

  it('falls back to the port the call came in on', () => {
    expect(directory.resolve(undefined, 'gateway', 9012)).toBeUndefined();
    addTwo();
    expect(directory.resolve(undefined, 'gateway', 9012)).toBe('two/chat');
  });

  it('forgets a pool that left', () => {
    addTwo();
    directory.removePool('one/chat');
    expect(directory.resolve(undefined, 'chat-epp.one', 9012)).toBe('two/chat');
    expect(directory.resolve('one/chat', '', 9002)).toBeUndefined();
  });
});
