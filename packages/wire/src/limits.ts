/**
 * Every bound that two processes must agree on, with the reason for each number.
 *
 * The assertions at the end run when the module is loaded: a change of one limit that breaks
 * another fails at once and everywhere, not on the first large frame in production.
 */
import { metricsCount } from './metric.ts';

/** Bytes of a report before its numbers. */
export const reportHeadBytes = 72;

/** Bytes of a report of version 1, the shortest there is: 23 numbers. */
export const reportBytesMin = 256;

/** Bytes of a report as this version writes it and keeps it in a view's slot. */
export const reportBytes = reportHeadBytes + metricsCount * 8;

/**
 * Bytes of one attributes record, header included. Four model names, a pod, namespace and node
 * name (253 bytes each at most) and some twenty adapter names fit.
 */
export const attributesBytesMax = 2_048;

/**
 * Bytes of any record that a reader knows: whoever keeps records of many targets has a bound for
 * their sum, also of versions to come. A report has room for 247 numbers.
 */
export const recordBytesMax = 2_048;

/** Bytes of one attribute's value: Kubernetes names end at 253, model paths are often longer. */
export const attributeValueBytesMax = 512;

/** Values of one attribute that may repeat (models, LoRA adapters). vLLM defaults to 1 adapter. */
export const attributeValuesMax = 64;

/** Engine ranks whose own numbers travel with a report; more are counted in the totals only. */
export const ranksMax = 64;

/** NATS refuses a larger message by default (`max_payload` 1 MiB), gRPC at 4 MiB. */
export const frameBytesMax = 1_048_576;

/** Bytes before the first record of a frame. */
export const frameHeaderBytes = 56;

/** Bytes before the payload of a record. */
export const recordHeaderBytes = 8;

/** The smallest bound of a frame that is of any use: one report fits. */
export const frameBytesMin = frameHeaderBytes + recordHeaderBytes + reportBytes;

/** Records of one frame: what fits when each is as small as a record may be. */
export const frameRecordsMax = Math.floor((frameBytesMax - frameHeaderBytes) / 32);

/** Bytes of a subject token; NATS has no limit, but its protocol line ends at 4 KiB. */
export const subjectTokenBytesMax = 255;

/**
 * Highest epoch and sequence number: they travel as float64, which is exact up to here. At 20
 * reports a second a sequence lasts 14 million years.
 */
export const counterMax = Number.MAX_SAFE_INTEGER;

/**
 * A sender repeats all it knows this often (ms). A collector that starts late is complete within
 * this time, so there is no resync protocol.
 */
export const keyframeIntervalMs = 1_000;

/**
 * A lower epoch replaces a higher one when nothing newer came for this long (ms): the sender
 * restarted on a clock that was set back. Shorter than any useful expiry, longer than two
 * keyframes, so that a frame that is merely late never does it.
 */
export const epochTakeoverMs = 3_000;

function mustHold(condition: boolean, rule: string): void {
  if (!condition) throw new Error(`wire limits contradict each other: ${rule}`);
}

mustHold(reportBytes % 8 === 0, 'a report is made of 8-byte words');
mustHold(reportBytes >= reportBytesMin, 'readers of version 1 find all they know');
mustHold(reportBytes <= recordBytesMax, 'a report is a record');
mustHold(attributesBytesMax <= recordBytesMax, 'attributes are a record');
mustHold(attributesBytesMax % 8 === 0, 'an attributes record is made of 8-byte words');
mustHold(attributeValueBytesMax < attributesBytesMax, 'a value fits its record');
mustHold(
  frameHeaderBytes + recordHeaderBytes + Math.max(reportBytes, attributesBytesMax) < frameBytesMax,
  'the largest record fits a frame',
);
mustHold(epochTakeoverMs > 2 * keyframeIntervalMs, 'a late keyframe is no clock reset');
