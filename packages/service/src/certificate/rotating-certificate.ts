/**
 * The TLS files of one listener or one client, followed while they are rotated: the one place where
 * certificates are read, whoever uses them.
 *
 * ```
 *   files ──look()──> whole? ──yes──> current, told to whoever uses it
 *                        └──no───> the former stays; logged, counted, looked at again
 * ```
 *
 * Files are compared by content at an interval rather than watched: certificate mounts are replaced
 * by renaming a directory, of which file watchers often hear nothing. Files that do not fit each
 * other are a rotation caught half-way, or one that is broken for good: nobody can tell which, so
 * each is logged when it is first seen, also while a good certificate is in use.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

/**
 * Names of PEM files; unset or empty: not used. A certificate and its key go together. `caFile`
 * holds whom to believe: a client its servers, a listener its clients.
 */
export interface TlsFiles {
  caFile?: string | undefined;
  certFile?: string | undefined;
  keyFile?: string | undefined;
}

/** The PEM texts in those files; `undefined` where there is no file. */
export interface TlsMaterial {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** `unreadable`: a file is not there or not ours to read. `mismatch`: they cannot be used together. */
export type CertificateErrorCode = 'unreadable' | 'mismatch';

/** Files that cannot be used. Its text names files, never what is in them. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly code: CertificateErrorCode;

  constructor(code: CertificateErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Reads the files and tries them out. Throws {@link CertificateError}. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsMaterial> {
  const [ca, cert, key] = await Promise.all([
    read(files.caFile),
    read(files.certFile),
    read(files.keyFile),
  ]);
  const material = { ca, cert, key };
  if ((cert === undefined) !== (key === undefined)) {
    throw new CertificateError('mismatch', 'a certificate and its key go together');
  }
  try {
    createSecureContext({ ca, cert, key });
    if (ca !== undefined) new X509Certificate(ca);
    if (cert === undefined || key === undefined) return material;
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return material;
  } catch (error) {
    const what = [files.caFile, files.certFile, files.keyFile].filter(Boolean).join(', ');
    const why = error instanceof Error ? error.message : String(error);
    throw new CertificateError('mismatch', `${what} cannot be used: ${why}`, error);
  }
  throw new CertificateError('mismatch', `${files.keyFile} is not the key of ${files.certFile}`);
}

/** The calls of a logger that this makes. */
export interface CertificateLogger {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface RotatingCertificateOptions {
  files: TlsFiles;
  logger?: CertificateLogger | undefined;
  /** Distance of two looks once {@link RotatingCertificate.start} was called, ms. */
  lookEveryMs?: number | undefined;
}

/** The kubelet renews mounted secrets about once a minute, and rotations leave days of overlap. */
const lookEveryMsDefault = 10_000;

export class RotatingCertificate {
  /** Looks that found files which cannot be used. */
  failures = 0;
  /** Times that changed files were taken over, the first included. */
  rotations = 0;
  readonly #options: RotatingCertificateOptions;
  readonly #users = new Set<(material: TlsMaterial) => void>();
  #current: TlsMaterial | undefined;
  #problem: CertificateError | undefined;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** Reads nothing yet. */
  constructor(options: RotatingCertificateOptions) {
    this.#options = options;
  }

  /** What is to be used now: the newest that was whole. */
  get current(): TlsMaterial | undefined {
    return this.#current;
  }

  /** What is wrong with the files as they are; `undefined` when nothing is. */
  get problem(): CertificateError | undefined {
    return this.#problem;
  }

  /** Why there is nothing to use; `undefined` when there is. */
  missing(): string | undefined {
    if (this.#current !== undefined) return undefined;
    return this.#problem?.message ?? 'certificate files not read yet';
  }

  /** Wall-clock ms at which the certificate in use ends; `undefined` without one. */
  endsAtMs(): number | undefined {
    const cert = this.#current?.cert;
    return cert === undefined ? undefined : new X509Certificate(cert).validToDate.getTime();
  }

  /** Calls `use` for each later one, the first included; returns the undo. */
  onChange(use: (material: TlsMaterial) => void): () => void {
    this.#users.add(use);
    return () => this.#users.delete(use);
  }

  /** What is to be used, after another look. Throws {@link CertificateError} when nothing can be. */
  async read(): Promise<TlsMaterial> {
    await this.look();
    if (this.#current !== undefined) return this.#current;
    throw this.#problem ?? new CertificateError('unreadable', 'certificate files not read yet');
  }

  /** Looks at the files now. One look at a time; never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Looks now and again, until {@link stop}. */
  start(use?: (material: TlsMaterial) => void): void {
    if (use !== undefined) this.onChange(use);
    const again = async () => {
      await this.look();
      if (this.#stopped) return;
      this.#timer = setTimeout(again, this.#options.lookEveryMs ?? lookEveryMsDefault);
      this.#timer.unref();
    };
    void again();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    let found: TlsMaterial;
    try {
      found = await readTlsFiles(this.#options.files);
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      this.failures++;
      // Told once for each way of being broken, not at every look.
      if (error.message !== this.#problem?.message) {
        const inUse = this.#current !== undefined;
        const text = inUse ? 'new certificate cannot be used' : 'certificate cannot be used';
        this.#options.logger?.error({ err: error, inUse }, text);
      }
      this.#problem = error;
      return;
    }
    const former = this.#current;
    const isSame =
      former?.cert === found.cert && former?.key === found.key && former?.ca === found.ca;
    this.#problem = undefined;
    if (this.#stopped || (former !== undefined && isSame)) return;
    this.#current = found;
    this.rotations++;
    if (former !== undefined) {
      this.#options.logger?.info({ endsAtMs: this.endsAtMs() }, 'certificate was rotated');
    }
    for (const use of this.#users) use(found);
  }
}

async function read(file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file === '') return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new CertificateError('unreadable', `cannot read ${file}: ${code}`, error);
  }
}
