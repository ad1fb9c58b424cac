/** Where the webhook's server certificate comes from: its own management, or files. */

/** PEM texts. Files are checked to hold both before they are served. */
export interface ServedCertificate {
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export interface CertificateSource {
  /** Begins in the background. `use` is called for the first certificate and each later one. */
  start(use: (certificate: ServedCertificate) => void): void;
  /** Undefined when a certificate is in use, else what is missing. */
  missing(): string | undefined;
  /** Wall-clock ms at which the certificate in use ends; undefined: none is. */
  endsAtMs(): number | undefined;
  stop(): Promise<void>;
}
