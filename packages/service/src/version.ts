/** The version of this build: all packages share one. */
import manifest from '../package.json' with { type: 'json' };

export const buildVersion: string = manifest.version;

/** Every answer of the HTTP side carries the version in this header, errors included. */
export const versionHeader = 'x-leadsman-version';
