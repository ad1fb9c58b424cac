/**
 * Numbers as the Python client of Prometheus prints them, which is what engines serve: always a
 * fraction (`3.0`), and from one million on a mantissa with an exponent (`1.048576e+06`).
 */
export function expositionNumber(value: number): string {
  if (value === 0) return '0.0';
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return `${value}.0`;
  let text = String(value);
  if (text.includes('e')) return text;
  if (!text.includes('.')) text += '.0';
  const point = text.indexOf('.');
  if (value < 0 || point <= 6) return text;
  const digits = `${text[0]}.${text.slice(1, point)}${text.slice(point + 1)}`;
  return `${digits.replace(/\.?0+$/, '')}e+0${point - 1}`;
}
