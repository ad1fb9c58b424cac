/**
 * A certificate in files, as cert-manager and the kubelet keep them: replaced under us, and read
 * again when they were. A pair that does not belong together (read half-way through a change) is
 * left for the next look.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CertificateSource, ServedCertificate } from './certificate-source.ts';

/** The kubelet updates mounted secrets about once a minute. */
const lookMsDefault = 10_000;

export class FileCertificate implements CertificateSource {
  readonly #options: { certFile: string; keyFile: string; lookMs?: number };
  #current: ServedCertificate | undefined;
  #problem = 'certificate files not read yet';
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: { certFile: string; keyFile: string; lookMs?: number }) {
    this.#options = options;
  }

  start(use: (certificate: ServedCertificate) => void): void {
    const look = async () => {
      await this.#look(use);
      if (this.#stopped) return;
      this.#timer = setTimeout(again, this.#options.lookMs ?? lookMsDefault);
    };
    const again = () => {
      this.#reading = look();
    };
    again();
  }

  missing(): string | undefined {
    return this.#current === undefined ? this.#problem : undefined;
  }

  endsAtMs(): number | undefined {
    if (this.#current === undefined) return undefined;
    return new X509Certificate(this.#current.cert).validToDate.getTime();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  async #look(use: (certificate: ServedCertificate) => void): Promise<void> {
    try {
      const [cert, key] = await Promise.all([
        readFile(this.#options.certFile, 'utf8'),
        readFile(this.#options.keyFile, 'utf8'),
      ]);
      if (cert === this.#current?.cert && key === this.#current.key) return;
      if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
        throw new Error('certificate and key do not belong together');
      }
      if (this.#stopped) return;
      this.#current = { cert, key };
      use(this.#current);
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
    }
  }
}
