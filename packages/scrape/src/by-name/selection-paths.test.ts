import { describe, expect, it } from 'vitest';
import { selectionPaths } from './selection-paths.ts';

describe('selectionPaths', () => {
  it('asks at the very path, then at the one below', () => {
    expect(selectionPaths('/metrics', ['a:b', 'c_sum'])).toEqual([
      '/metrics?name[]=a:b&name[]=c_sum',
      '/metrics/?name[]=a:b&name[]=c_sum',
    ]);
    expect(selectionPaths('/metrics/', ['a'])).toEqual(['/metrics/?name[]=a']);
  });

  it('keeps what is asked for already', () => {
    const [first] = selectionPaths('/m?token=x%20y&v=1', ['a']);
    expect(first).toBe('/m?token=x%20y&v=1&name[]=a');
    const asked = new URL(first as string, 'http://engine').searchParams;
    expect(asked.getAll('name[]')).toEqual(['a']);
    expect(asked.get('token')).toBe('x y');
    const twice = selectionPaths('/m?redirect=/a?b', ['a'])[0];
    expect(new URL(twice as string, 'http://engine').searchParams.get('redirect')).toBe('/a?b');
  });

  it('asks for nothing where that cannot be', () => {
    expect(selectionPaths('/metrics', [])).toEqual([]);
    expect(selectionPaths('/metrics?name[]=up', ['a'])).toEqual([]);
    expect(selectionPaths('/metrics?name%5B%5D=up', ['a'])).toEqual([]);
    expect(selectionPaths('/metrics', new Array(1_000).fill('long_name'))).toEqual([]);
  });
});
