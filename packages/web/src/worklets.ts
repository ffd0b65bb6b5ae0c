/** Source of both worklets, which the build of this package fills in; empty in other builds. */
declare const PARLEY_WORKLETS: string;

let inlined: string | null = null;

/**
 * Addresses of the scripts of the worklets.
 * @param folder with the built worklets; null = the inlined ones
 */
export function workletUrls(folder: string | null): string[] {
  if (folder !== null) return ['capture-worklet.js', 'playback-worklet.js'].map((name) => `${folder}/${name}`);
  inlined ??= URL.createObjectURL(new Blob([PARLEY_WORKLETS], { type: 'text/javascript' }));
  return [inlined];
}
