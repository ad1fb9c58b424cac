/**
 * The sidecar's own metrics, and the engine's numbers under one name whatever the engine:
 * `leadsman_engine_…`. All are read when a scrape of the sidecar asks; a number that is unknown
 * has no series, rather than a 0. Units are Prometheus's base units, whatever they are on the wire.
 */
import type { PageCounters, Target, TargetCounters } from '@leadsman/scrape';
import { type MetricName, metric, metricNames } from '@leadsman/wire';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Exporter, ExporterCounters, ExporterPath } from './exporter/exporter.ts';
import type { FrameComposer } from './frame-composer.ts';
import type { ScrapeOutcomes } from './scrape-outcomes.ts';

const paths: readonly ExporterPath[] = ['agent', 'nats', 'direct', 'none'];

const targetCounters: readonly [keyof TargetCounters, string, string][] = [
  ['invalidSamples', 'invalid_samples_total', 'Samples whose number cannot be: NaN, negative.'],
  [
    'unknownRankLabels',
    'unknown_rank_labels_total',
    'Label lists with a …_rank label that the profile does not know; taken as shards.',
  ],
  ['malformedLines', 'malformed_lines_total', 'Lines that break the exposition format.'],
  ['droppedSamples', 'dropped_samples_total', 'Samples beyond a bound of the reader.'],
  ['versionFailures', 'version_failures_total', 'Questions for its version without an answer.'],
];

/** Pages by the way they were asked for: what counts them, and what counts their bytes. */
const ways: readonly [way: string, pages: keyof PageCounters, bytes: keyof PageCounters][] = [
  ['whole', 'wholePages', 'wholeBytes'],
  ['by_name', 'byNamePages', 'byNameBytes'],
];

const frameCounters: readonly [keyof ExporterCounters, string][] = [
  ['agentFrames', 'agent'],
  ['returnedFrames', 'returned'],
  ['ownFrames', 'own'],
  ['droppedFrames', 'dropped'],
];

export interface MetricSources {
  targets: readonly Target[];
  exporter: Exporter;
  composer: FrameComposer;
  outcomes: ScrapeOutcomes;
  nowMs: () => number;
}

export function registerSidecarMetrics(registry: Registry, sources: MetricSources): void {
  registerScrapeMetrics(registry, sources);
  registerExporterMetrics(registry, sources);
  registerEngineMetrics(registry, sources);
}

function registerScrapeMetrics(registry: Registry, { targets, outcomes }: MetricSources): void {
  const registers = [registry];
  new Counter({
    name: 'leadsman_sidecar_scrapes_total',
    help: 'Scrapes that ended, by how.',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of outcomes.counts) this.inc({ outcome }, count);
    },
  });
  const sumOf = (key: keyof PageCounters) =>
    targets.reduce((sum, target) => sum + target.pages[key], 0);
  new Counter({
    name: 'leadsman_sidecar_pages_total',
    help: 'Pages fetched, by how they were asked for: whole, or by the names of the series read.',
    labelNames: ['way'],
    registers,
    collect() {
      this.reset();
      for (const [way, pages] of ways) this.inc({ way }, sumOf(pages));
    },
  });
  new Counter({
    name: 'leadsman_sidecar_page_bytes_total',
    help: 'Bytes of these pages.',
    labelNames: ['way'],
    registers,
    collect() {
      this.reset();
      for (const [way, , bytes] of ways) this.inc({ way }, sumOf(bytes));
    },
  });
  new Counter({
    name: 'leadsman_sidecar_by_name_refused_total',
    help: 'Answers by name that were not believed, so that the whole page was asked for, too.',
    registers,
    collect() {
      this.reset();
      this.inc(sumOf('byNameRefused'));
    },
  });
  for (const [key, name, help] of targetCounters) {
    new Counter({
      name: `leadsman_sidecar_${name}`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(targets.reduce((sum, target) => sum + target.counters[key], 0));
      },
    });
  }
  new Counter({
    name: 'leadsman_sidecar_dropped_attributes_total',
    help: 'Attribute values (models, adapters) beyond the bounds of the wire.',
    registers,
    collect() {
      this.reset();
      this.inc(targets.reduce((sum, { state }) => sum + state.droppedAttributes, 0));
    },
  });
}

function registerExporterMetrics(registry: Registry, sources: MetricSources): void {
  const { exporter, composer } = sources;
  const registers = [registry];
  new Counter({
    name: 'leadsman_sidecar_frames_total',
    help: 'Frames by the way they took; returned: not taken by the agent, and sent another way.',
    labelNames: ['way'],
    registers,
    collect() {
      this.reset();
      for (const [key, way] of frameCounters) this.inc({ way }, exporter.counters[key]);
    },
  });
  new Counter({
    name: 'leadsman_sidecar_hand_overs_total',
    help: 'Changes between the agent and the own transport.',
    registers,
    collect() {
      this.reset();
      this.inc(exporter.counters.handOvers);
    },
  });
  new Counter({
    name: 'leadsman_sidecar_dropped_records_total',
    help: 'Records larger than what the transport takes.',
    registers,
    collect() {
      this.reset();
      this.inc(composer.droppedRecords);
    },
  });
  new Gauge({
    name: 'leadsman_sidecar_path',
    help: '1 for the way that frames take now.',
    labelNames: ['path'],
    registers,
    collect() {
      for (const path of paths) this.set({ path }, exporter.path === path ? 1 : 0);
    },
  });
}

function registerEngineMetrics(registry: Registry, { targets, nowMs }: MetricSources): void {
  const registers = [registry];
  const labelNames = ['port', 'engine'];
  new Gauge({
    name: 'leadsman_engine_age_seconds',
    help: 'Age of the newest numbers.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const target of targets) this.set(labelsOf(target), target.state.ageMs(nowMs()) / 1_000);
    },
  });
  new Gauge({
    name: 'leadsman_engine_by_name',
    help: '1 while the engine is asked by name, 0 while for its whole page.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const target of targets) {
        this.set(labelsOf(target), target.way.way === 'by_name' ? 1 : 0);
      }
    },
  });
  new Gauge({
    name: 'leadsman_engine_suspect',
    help: '1 while claimed work makes no progress.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const target of targets) this.set(labelsOf(target), target.state.suspect ? 1 : 0);
    },
  });
  for (const name of metricNames) registerNumber(registry, targets, name);
}

/** One number of the engines. What they count since their start falls to 0 with them. */
function registerNumber(registry: Registry, targets: readonly Target[], number: MetricName): void {
  const { name, scale } = shownAs(number);
  const options = {
    name: `leadsman_engine_${name}`,
    help: `Normalised ${number} of the engine.`,
    labelNames: ['port', 'engine'],
    registers: [registry],
  };
  const each = (show: (labels: EngineLabels, value: number) => void) => {
    for (const target of targets) {
      const value = target.state.metrics[metric[number]] ?? Number.NaN;
      if (!Number.isNaN(value)) show(labelsOf(target), value * scale);
    }
  };
  if (name.endsWith('_total')) {
    new Counter({
      ...options,
      collect() {
        this.reset();
        each((labels, value) => this.inc(labels, value));
      },
    });
  } else {
    new Gauge({
      ...options,
      collect() {
        this.reset();
        each((labels, value) => this.set(labels, value));
      },
    });
  }
}

/** Sums and numbers of histograms, whose suffixes belong to whole histograms on a page. */
const shownTotals: Partial<Record<MetricName, string>> = {
  ttftSecondsSum: 'ttft_seconds_total',
  ttftCount: 'ttft_samples_total',
  interTokenSecondsSum: 'inter_token_seconds_total',
  interTokenCount: 'inter_token_samples_total',
};

/** Rest of the name on the page, and what to multiply the number by. */
function shownAs(number: MetricName): { name: string; scale: number } {
  const name = shownTotals[number] ?? snakeCase(number);
  if (name.endsWith('_ms')) return { name: name.replace(/_ms$/, '_seconds'), scale: 0.001 };
  return { name, scale: 1 };
}

interface EngineLabels extends Record<string, string> {
  port: string;
  engine: string;
}

function labelsOf(target: Target): EngineLabels {
  return { port: String(target.state.identity.port), engine: target.engine ?? 'unknown' };
}

function snakeCase(name: MetricName): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
