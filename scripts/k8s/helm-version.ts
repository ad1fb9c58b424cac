/** Which helm the Kubernetes tests take from PATH: those that the chart's users may have. */

/** The oldest that docs/install.md allows. */
const least = { major: 3, minor: 14 };

/** Whether `helm version --template {{.Version}}` names a version of 3.14 or later. */
export function isHelmUsable(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version.trim()) ?? [];
  if (major === undefined || minor === undefined) return false;
  if (Number(major) !== least.major) return Number(major) > least.major;
  return Number(minor) >= least.minor;
}
