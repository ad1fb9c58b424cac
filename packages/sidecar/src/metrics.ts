/**
 * The sidecar's own metrics, and the engine's numbers under one name whatever the engine: gauges
 * `leadsman_engine_…`. All are read when a scrape of the sidecar asks; a number that is unknown
 * has no series, rather than a 0.
 */
import type { Target, TargetCounters } from '@leadsman/scrape';
import {
  type MetricName,
  metric,
  metricNames,
  type Reason,
  reasonName,
  reasonNames,
} from '@leadsman/wire';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Exporter, ExporterCounters, ExporterPath } from './exporter/exporter.ts';
import type { FrameComposer } from './frame-composer.ts';

const paths: readonly ExporterPath[] = ['agent', 'nats', 'direct', 'none'];

const targetCounters: readonly [keyof TargetCounters, string, string][] = [
  ['bytes', 'page_bytes_total', 'Bytes of the pages read.'],
  ['invalidSamples', 'invalid_samples_total', 'Samples whose number cannot be: NaN, negative.'],
  ['malformedLines', 'malformed_lines_total', 'Lines that break the exposition format.'],
  ['droppedSamples', 'dropped_samples_total', 'Samples beyond a bound of the reader.'],
];

const frameCounters: readonly [keyof ExporterCounters, string][] = [
  ['agentFrames', 'agent'],
  ['returnedFrames', 'returned'],
  ['ownFrames', 'own'],
  ['droppedFrames', 'dropped'],
];

/** Scrapes by how they ended. */
export class ScrapeOutcomes {
  readonly counts = new Map<string, number>(reasonNames.map((name) => [name, 0]));

  add(code: Reason): void {
    const name = reasonName(code);
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}

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
    name: 'leadsman_engine_age_ms',
    help: 'Age of the newest numbers.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const target of targets) this.set(labelsOf(target), target.state.ageMs(nowMs()));
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
  for (const name of metricNames) {
    new Gauge({
      name: `leadsman_engine_${snakeCase(name)}`,
      help: `Normalised ${name} of the engine.`,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const target of targets) {
          const value = target.state.metrics[metric[name]] ?? Number.NaN;
          if (!Number.isNaN(value)) this.set(labelsOf(target), value);
        }
      },
    });
  }
}

function labelsOf(target: Target): { port: string; engine: string } {
  return { port: String(target.state.identity.port), engine: target.engine ?? 'unknown' };
}

function snakeCase(name: MetricName): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
