/**
 * Where a picker's scheduling configuration comes from: a strategy file that may change while the
 * process runs, or one strategy named on the command line.
 */
import { type StatWatcher, unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  describeExtension,
  ExtensionError,
  loadExtension,
} from '../../worker/extension/load-extension.ts';
import {
  configForStrategy,
  type ExtensionLoader,
  parseStrategyFile,
  type StrategyFile,
} from './strategy-file.ts';
import { StrategyFileError } from './strategy-file-error.ts';

/**
 * A ConfigMap is swapped as a symbolic link two directories up, which notifications of the file
 * itself miss; looking once a second costs one `stat`.
 */
const watchIntervalMs = 1_000;

export interface ConfigSourceOptions {
  /** Path of the strategy file, '' for none. */
  file: string;
  /** Strategy of every pool when there is no file. */
  strategy: string;
  /** Age up to which that strategy trusts numbers, ms; default as in a file. */
  staleAfterMs?: number;
}

export class ConfigSource {
  readonly #options: ConfigSourceOptions;
  readonly #path: string;
  #watcher: StatWatcher | undefined;

  constructor(options: ConfigSourceOptions) {
    this.#options = options;
    this.#path = options.file === '' ? '' : resolve(options.file);
  }

  /**
   * Reads the configuration as it is now and loads its modules. Throws {@link StrategyFileError}
   * with everything that is wrong.
   */
  async load(): Promise<StrategyFile> {
    if (this.#path === '') {
      const { strategy, staleAfterMs } = this.#options;
      return { config: await configForStrategy(strategy, staleAfterMs), warnings: [] };
    }
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StrategyFileError([`${this.#options.file}: ${reason}`]);
    }
    return parseStrategyFile(text, this.#options.file, extensionLoader(dirname(this.#path)));
  }

  /** Calls `onChange` after the file was changed. */
  watch(onChange: () => void): void {
    if (this.#path === '' || this.#watcher !== undefined) return;
    this.#watcher = watchFile(
      this.#path,
      { interval: watchIntervalMs, persistent: false },
      (now, before) => {
        if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino) onChange();
      },
    );
  }

  stop(): void {
    if (this.#watcher !== undefined) unwatchFile(this.#path);
    this.#watcher = undefined;
  }
}

/** Loads modules by paths relative to `directory`. */
export function extensionLoader(directory: string): ExtensionLoader {
  return async (module) => {
    try {
      const config = await describeExtension(resolve(directory, module));
      return { config, parts: await loadExtension(config) };
    } catch (error) {
      if (error instanceof ExtensionError) return { problem: error.message };
      throw error;
    }
  };
}
