/** What tests, benchmarks and tools use of the picker; the process itself starts at `main.ts`. */

export { type PickerConfig, pickerConfigShape } from './config/picker-config.ts';
export * from './pool/kubernetes/kubernetes-membership.ts';
export { type PickerDeps, type RunningPicker, startPicker } from './start-picker.ts';
export * from './tls/identity.ts';
