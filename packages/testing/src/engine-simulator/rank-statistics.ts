/**
 * What one rank of a simulated engine has counted since its start, beyond the gauges of the engine
 * model: the latency and size histograms of vLLM's page. Bounds are those that vLLM uses.
 */
import { Histogram } from './histogram.ts';

const tokenBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];
const stepTokenBounds = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];
const choiceBounds = [1, 2, 5, 10, 20];
const firstTokenBounds = [
  ...[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  ...[20, 40, 80, 160, 640, 2560],
];
const perTokenBounds = [
  ...[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  ...[20, 40, 80],
];
const requestBounds = [
  ...[0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960],
  ...[1920, 7680],
];

export class RankStatistics {
  readonly promptTokens = new Histogram(tokenBounds);
  readonly generationTokens = new Histogram(tokenBounds);
  readonly maxGenerationTokens = new Histogram(tokenBounds);
  readonly maxTokensParameter = new Histogram(tokenBounds);
  readonly choicesParameter = new Histogram(choiceBounds);
  readonly stepTokens = new Histogram(stepTokenBounds);
  readonly firstTokenSeconds = new Histogram(firstTokenBounds);
  readonly interTokenSeconds = new Histogram(perTokenBounds);
  readonly requestInterTokenSeconds = new Histogram(perTokenBounds);
  readonly endToEndSeconds = new Histogram(requestBounds);
  readonly queueSeconds = new Histogram(requestBounds);
  readonly inferenceSeconds = new Histogram(requestBounds);
  readonly prefillSeconds = new Histogram(requestBounds);
  readonly decodeSeconds = new Histogram(requestBounds);
  readonly finished = { stop: 0, length: 0, abort: 0 };
}

/** The members of {@link RankStatistics} that are histograms. */
export type HistogramName = {
  [K in keyof RankStatistics]: RankStatistics[K] extends Histogram ? K : never;
}[keyof RankStatistics];
