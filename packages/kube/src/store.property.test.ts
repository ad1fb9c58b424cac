import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Store } from './store.ts';

const uid = fc.constantFrom('a', 'b', 'c', 'd');
const objectOf = (id: string, value: number) => ({
  metadata: { name: id, uid: id, resourceVersion: '1', labels: { value: String(value) } },
});
const event = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), id: uid, value: fc.nat(3) }),
  fc.record({ kind: fc.constant('remove' as const), id: uid, value: fc.nat(3) }),
);

function newStore(told: Map<string, string>) {
  return new Store<string>({
    project: (object) => object.metadata.labels?.value,
    itemsMax: 100,
    listener: {
      upserted: (id, item, previous) => {
        expect(told.get(id)).toBe(previous);
        told.set(id, item);
      },
      removed: (id, item) => {
        expect(told.get(id)).toBe(item);
        told.delete(id);
      },
    },
  });
}

it('a list beside the watch never undoes an event, and repairs every one that was missed', () => {
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 20 }),
      fc.array(event, { maxLength: 20 }),
      fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
      (before, during, heard) => {
        const told = new Map<string, string>();
        const store = newStore(told);
        const truth = new Map<string, string>();
        const apply = ({ kind, id, value }: (typeof before)[number], isHeard: boolean) => {
          if (kind === 'put') truth.set(id, String(value));
          else truth.delete(id);
          if (!isHeard) return;
          if (kind === 'put') store.upsert(objectOf(id, value));
          else store.remove(objectOf(id, value));
        };
        // Some events of the past were missed; the list is taken; all later ones are heard.
        for (const [i, one] of before.entries()) apply(one, heard[i] === true);
        const listed = new Map(truth);
        const audit = store.beginAudit();
        for (const one of during) apply(one, true);
        store.endAudit(audit, listed);
        expect(new Map(store.items)).toEqual(truth);
        expect(told).toEqual(truth);
      },
    ),
  );
});

it('ignores a list beside the watch that another list has overtaken', () => {
  const told = new Map<string, string>();
  const store = newStore(told);
  const audit = store.beginAudit();
  store.replace(new Map([['a', '1']]));
  store.endAudit(audit, new Map());
  expect(told).toEqual(new Map([['a', '1']]));
});

it('takes only objects: no Status, nothing without a name, nothing the projection cannot read', () => {
  const store = new Store<string>({
    project: () => {
      throw new Error('unreadable');
    },
    itemsMax: 10,
    listener: { upserted: () => {}, removed: () => {} },
  });
  fc.assert(
    fc.property(fc.anything(), (value) => {
      store.upsert(value);
      store.remove(value);
    }),
  );
  store.upsert({ kind: 'Status', ...objectOf('s', 1) });
  store.upsert(objectOf('x', 1));
  expect(store.items.size).toBe(0);
  expect(store.counts.rejected).toBeGreaterThan(0);
});
