/** The npm parser has no types of its own; this is the part of it that the benchmark calls. */
declare module 'parse-prometheus-text-format' {
  interface Family {
    name: string;
    metrics: readonly { value: string; labels?: Readonly<Record<string, string>> }[];
  }
  export default function parsePrometheusTextFormat(page: string): readonly Family[];
}
